import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

import { type LaunchPlan, encodeLaunchPlan } from '../../../src/launch/launch-plan.ts';
import { helperPath } from './helper.ts';

export interface NativeLaunch {
  /** A plan, or the bytes that are to be taken for one. */
  readonly plan: LaunchPlan | Buffer;
  /** The path of the program and its arguments. */
  readonly program: readonly [string, ...string[]];
  /** A seccomp program. */
  readonly filter?: Buffer;
  readonly env?: Readonly<Record<string, string>>;
  /** Whose process the helper is; ours when absent. */
  readonly user?: number | undefined;
  /** A descriptor for its input; `/dev/null` when absent. */
  readonly stdin?: number;
  /** A program and its arguments that starts the helper in turn, in the same process. */
  readonly through?: readonly string[];
  /** More descriptors, from 6 on. */
  readonly more?: readonly number[];
}

export interface NativeEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What was written to the status descriptor. */
  readonly status: string;
}

/** A hanging launch is a failure, not a hanging test. */
const maxMs = 20_000;

// The status last: what the helper opens itself comes to lie below it.
const [planAt, filterAt, statusAt] = [3, 4, 5];

/** Launches and waits for the end. */
export function launchSync(launch: NativeLaunch): NativeEnd {
  return withDescriptors(launch, (stdio) => {
    const [path, ...args] = wordsOf(launch);
    const { status, signal, output } = spawnSync(path, args, {
      ...optionsOf(launch),
      stdio,
      timeout: maxMs,
      killSignal: 'SIGKILL',
      encoding: 'utf8',
    });
    const [, stdout, stderr, , , complaint] = output;
    return { code: status, signal, stdout: stdout ?? '', stderr: stderr ?? '', status: complaint ?? '' };
  });
}

/** A launch that runs, and its pipes. */
export interface RunningLaunch {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly stdout: Readable;
  /** What was written to the status descriptor, once nobody holds that any more. */
  readonly status: Promise<string>;
  /** Settles when the process has ended and its outputs are closed. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** Starts a launch as the leader of a group of its own, as the runtime does. */
export function launchAsync(launch: NativeLaunch): RunningLaunch {
  const [file, ...args] = wordsOf(launch);
  const child = withDescriptors(launch, (stdio) => spawn(file, args, { ...optionsOf(launch), stdio, detached: true }));
  const { pid, stdout } = child;
  const status = child.stdio[statusAt];
  if (pid === undefined || stdout === null || !(status instanceof Readable))
    throw new Error('the helper did not start');
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  return { child, pid, stdout, status: text(status), ended };
}

function withDescriptors<T>(launch: NativeLaunch, use: (stdio: StdioOptions) => T): T {
  const { plan, filter, stdin = 'ignore', more = [] } = launch;
  const folder = mkdtempSync(join(tmpdir(), 'svc-native-'));
  const open: number[] = [];
  const file = (name: string, bytes: Buffer): number => {
    writeFileSync(join(folder, name), bytes);
    const descriptor = openSync(join(folder, name), 'r');
    open.push(descriptor);
    return descriptor;
  };
  try {
    const planFile = file('plan', Buffer.isBuffer(plan) ? plan : encodeLaunchPlan(plan));
    const filterFile = filter === undefined ? 'ignore' : file('filter', filter);
    return use([stdin, 'pipe', 'pipe', planFile, filterFile, 'pipe', ...more]);
  } finally {
    for (const descriptor of open) closeSync(descriptor);
    rmSync(folder, { recursive: true });
  }
}

function wordsOf({ program: [path, ...args], filter, through = [] }: NativeLaunch): [string, ...string[]] {
  const call = [`${planAt}`, `${statusAt}`, filter === undefined ? '-' : `${filterAt}`, '-', path, path, ...args];
  const [first, ...rest] = [...through, helperPath(), ...call];
  return [first ?? '', ...rest];
}

function optionsOf({ env = {}, user }: NativeLaunch): {
  cwd: string;
  env: Record<string, string>;
  uid?: number;
  gid?: number;
} {
  const options = { cwd: '/', env: { PATH: '/usr/bin:/bin', ...env } };
  return user === undefined ? options : { ...options, uid: user, gid: user };
}

/** The users to launch as: the one of the tests, and an ordinary one where that is root. */
export const users: readonly (readonly [string, number | undefined])[] =
  process.getuid?.() === 0
    ? [
        ['root', undefined],
        ['uid 1000', 1000],
      ]
    : [['this user', undefined]];
