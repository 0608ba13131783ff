/** Starts a program as leader of its own group, and opens what it gets as its input and its outputs. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';

import { refusalCode, isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { leadingChild, superviseGroup, type StandardStreams } from './child-group.ts';
import { refusalOfError } from './find-program.ts';
import type { LaunchServer, ServedRequest } from './launch-server.ts';
import type { LaunchedProcess, LaunchOutcome, LaunchRequest } from './launcher.ts';
import { type PipePool, ownDescriptors } from './pipe-pool.ts';

/** What is started for a request, and with what. */
interface ProcessStart {
  readonly program: string;
  readonly args: readonly string[];
  /** The program's own name for itself; its path when absent. */
  readonly argv0?: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors behind the standard three. */
  readonly others: readonly (number | 'ignore' | 'pipe' | 'ipc')[];
  /** For the standard streams, which are sockets without it. */
  readonly pipes: PipePool | undefined;
  /** How long what the process leaves running may go on writing after its exit. */
  readonly drainMs: number;
}

type ProcessStarted =
  | { readonly kind: 'started'; readonly child: ChildProcess; readonly process: LaunchedProcess }
  | Extract<LaunchOutcome, { readonly kind: 'refused' }>;

/** Starts a program as leader of its own group, with exactly this environment. A start that the system refuses is a refusal. */
export async function startProcess(
  request: Pick<LaunchRequest, 'stdin' | 'output'>,
  { program, args, others, pipes, drainMs, ...options }: ProcessStart,
): Promise<ProcessStarted> {
  const standard = await openDescriptors(pipes, request);
  try {
    const child = spawn(program, args, { ...options, detached: true, stdio: [...standard.stdio, ...others] });
    const { pid } = child;
    if (pid === undefined) return refusedBy((await once(child, 'error'))[0]);
    return {
      kind: 'started',
      child,
      process: superviseGroup({ ...leadingChild(child, pid), ...standard.connect(child) }, drainMs),
    };
  } catch (error) {
    return refusedBy(error);
  } finally {
    standard.release();
  }
}

/** A launch for the helper that stays. */
interface ServedStart extends Omit<ServedRequest, 'standard'> {
  readonly server: LaunchServer;
  readonly pipes: PipePool;
  readonly drainMs: number;
}

type ServedStarted =
  | { readonly kind: 'started'; readonly settled: Promise<string>; readonly process: LaunchedProcess }
  /** Nothing has run, and it can be started without the helper. */
  | { readonly kind: 'unserved' }
  /** The helper ended before it came to the launch. */
  | { readonly kind: 'lost' };

/** Starts a program through the helper that stays, as leader of its own group, with exactly this environment. */
export async function startServed(
  { stdin, output }: Pick<LaunchRequest, 'stdin' | 'output'>,
  { server, pipes, drainMs, ...launch }: ServedStart,
): Promise<ServedStarted> {
  const isPiped = stdin === 'pipe';
  if (output === 'inherit' || stdin === 'inherit' || (isPiped && !pipes.servesInputs)) return { kind: 'unserved' };
  const readEnds = await pipes.take(isPiped ? 3 : 2);
  if (readEnds === null) return { kind: 'unserved' };
  // They stay open until the helper has opened them: it knows them by their numbers.
  const ends = new PipeEnds(readEnds);
  const [out = -1, error = -1, input] = readEnds;
  try {
    const written = input === undefined ? null : ends.open(input, constants.O_WRONLY | constants.O_NONBLOCK);
    const served = await server.launch({ ...launch, standard: [input ?? null, out, error] });
    if (typeof served === 'string') return { kind: served };
    const streams = {
      stdin: written === null ? null : new Socket({ fd: ends.giveAway(written), readable: false, writable: true }),
      stdout: new Socket({ fd: ends.giveAway(out), readable: true, writable: false }),
      stderr: new Socket({ fd: ends.giveAway(error), readable: true, writable: false }),
    };
    const leader = { pid: served.pid, exited: served.ended, end: served.ended };
    return { kind: 'started', settled: served.settled, process: superviseGroup({ ...leader, ...streams }, drainMs) };
  } finally {
    ends.close();
  }
}

/** A failed `spawn` system call as a refusal; anything else is a bug and goes on. */
function refusedBy(error: unknown): ProcessStarted {
  if (!isSystemError(error) || error.syscall?.startsWith('spawn') !== true) throw error;
  return { kind: 'refused', reason: refusalOfError(error.code) };
}

type ChildDescriptor = 'ignore' | 'pipe' | number;

/** The descriptors 0, 1 and 2 of a child that is to be started. */
interface ChildDescriptors {
  /** For `spawn`. */
  readonly stdio: readonly [ChildDescriptor, ChildDescriptor, ChildDescriptor];
  /** Our ends, for a child that was started with them. Once. */
  connect(child: ChildProcess): StandardStreams;
  /** Closes what is still open of the child's ends here, and ours when they were not connected. After every `spawn`. */
  release(): void;
}

/** Pipes, which a program can also open by name, as it can in a shell; sockets where the system makes no pipes for us. */
async function openDescriptors(
  pipes: PipePool | undefined,
  { stdin, output }: Pick<LaunchRequest, 'stdin' | 'output'>,
): Promise<ChildDescriptors> {
  const input = stdin === 'inherit' ? 0 : stdin === 'pipe' ? 'pipe' : 'ignore';
  if (output === 'inherit') return ownOutputs(input);
  const count = input === 'pipe' && pipes?.servesInputs === true ? 3 : 2;
  const readEnds = (await pipes?.take(count)) ?? null;
  const piped = readEnds === null ? null : pipeDescriptors(readEnds, input);
  return piped ?? socketDescriptors(input);
}

/** The outputs of this process itself, handed on as they are: a terminal stays one. */
function ownOutputs(input: ChildDescriptor): ChildDescriptors {
  const nothing = (): Readable => Readable.from([]);
  return {
    stdio: [input, 1, 2],
    connect: ({ stdin }) => ({ stdin, stdout: nothing(), stderr: nothing() }),
    release: () => {},
  };
}

function socketDescriptors(input: ChildDescriptor): ChildDescriptors {
  return {
    stdio: [input, 'pipe', 'pipe'],
    connect: ({ stdin, stdout, stderr }) => {
      if (stdout === null || stderr === null) throw new Error('a started child lacks its outputs');
      return { stdin, stdout, stderr };
    },
    release: () => {},
  };
}

/** For the pipes of both outputs, and of the input where there is a third. Returns null where the system opens no more of their ends. */
function pipeDescriptors(readEnds: readonly number[], socket: ChildDescriptor): ChildDescriptors | null {
  const ends = new PipeEnds(readEnds);
  const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
  try {
    const [out = -1, error = -1, input] = readEnds;
    const theirs = [ends.open(out, O_WRONLY), ends.open(error, O_WRONLY)] as const;
    const written = input === undefined ? null : ends.open(input, O_WRONLY | O_NONBLOCK);
    // The read end that is held does not block, which a program does not expect of its input.
    const read = input === undefined ? socket : ends.open(input, O_RDONLY);
    return {
      stdio: [read, ...theirs],
      connect: ({ stdin }) => ({
        stdin: written === null ? stdin : new Socket({ fd: ends.giveAway(written), readable: false, writable: true }),
        stdout: new Socket({ fd: ends.giveAway(out), readable: true, writable: false }),
        stderr: new Socket({ fd: ends.giveAway(error), readable: true, writable: false }),
      }),
      release: () => ends.close(),
    };
  } catch (error) {
    ends.close();
    refusalCode(error);
    return null;
  }
}

/** Descriptors that are closed unless they were given away. */
class PipeEnds {
  readonly #open: Set<number>;

  constructor(readEnds: readonly number[]) {
    this.#open = new Set(readEnds);
  }

  open(readEnd: number, flags: number): number {
    const descriptor = openSync(`${ownDescriptors}/${readEnd}`, flags);
    this.#open.add(descriptor);
    return descriptor;
  }

  giveAway(descriptor: number): number {
    this.#open.delete(descriptor);
    return descriptor;
  }

  close(): void {
    for (const descriptor of this.#open) closeSync(descriptor);
    this.#open.clear();
  }
}
