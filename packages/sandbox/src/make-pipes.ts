import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, fchownSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import type { PipeSource } from './pipe-stock.ts';

const atOnce = 64;
const longestMs = 10_000;

/** Where a process finds its descriptors as files. */
export const ownDescriptors = '/proc/self/fd';

/**
 * Pipes that `svc-launch` makes and holds until they are opened here (`native/svc-launch/PLAN.md`, "Pipes"). They belong to `owner`, where
 * programs are somebody else: whoever opens one by name has to be its owner.
 */
export function helperPipes(helper: string, owner: number | null = null): PipeSource {
  const make = async (): Promise<readonly number[]> => {
    const opened = await openHeldByHelper({ helper, args: ['pipes', `${atOnce}`], ends });
    if (owner !== null) for (const descriptor of opened) fchownSync(descriptor, owner, owner);
    return opened;
  };
  return { make, areNamed: false };
}

export interface HeldByHelper {
  readonly helper: string;
  readonly args: readonly string[];
  /** Its descriptors that are wanted. */
  readonly ends: readonly number[];
}

/** Opens what `svc-launch` makes and holds until then; the descriptors are the caller's to close. None where the system refuses it. */
export function openHeldByHelper({ helper, args, ends: wanted }: HeldByHelper): Promise<readonly number[]> {
  return unlessRefused(async () => {
    const child = spawn(helper, args, { cwd: '/', env: {}, stdio: ['pipe', 'pipe', 'ignore'] });
    // It may be over before its input is closed.
    child.stdin.on('error', () => {});
    try {
      const isReady = await withinTime(child, () => firstByte(child.stdout));
      return isReady ? openEach(wanted.map((end) => `/proc/${child.pid}/fd/${end}`)) : [];
    } finally {
      child.stdin.destroy();
      child.stdout.destroy();
    }
  });
}

/** The read ends in the helper. */
const ends = Array.from({ length: atOnce }, (_, index) => 3 + 2 * index);

async function firstByte(output: Readable): Promise<boolean> {
  await once(output, 'readable');
  return output.read() !== null;
}

/**
 * Pipes with a name in a folder of this directory, which is gone when they are opened. Good where access to files is not mediated: a
 * program that opens one by way of its descriptor opens a file of the host.
 */
export function namedPipes(directory: string): PipeSource {
  const make = (): Promise<readonly number[]> =>
    unlessRefused(async () => {
      if (!existsSync(ownDescriptors)) return [];
      const folder = mkdtempSync(join(directory, 'pipes-'));
      try {
        const paths = ends.map((end) => join(folder, `${end}`));
        const child = spawn('mkfifo', ['-m', '600', ...paths], { env: { PATH: '/usr/bin:/bin' }, stdio: 'ignore' });
        const areMade = await withinTime(child, async () => (await once(child, 'exit'))[0] === 0);
        return areMade ? openEach(paths) : [];
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  return { make, areNamed: true };
}

async function withinTime<T>(child: ChildProcess, wait: () => Promise<T>): Promise<T> {
  if (child.pid === undefined) throw (await once(child, 'error'))[0];
  const force = setTimeout(() => child.kill('SIGKILL'), longestMs);
  try {
    return await wait();
  } finally {
    clearTimeout(force);
  }
}

/** All of them or none. */
function openEach(paths: readonly string[]): readonly number[] {
  const opened: number[] = [];
  try {
    for (const path of paths) opened.push(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    return opened;
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor);
    throw error;
  }
}

/** What the system refuses here is done without. */
async function unlessRefused(make: PipeSource['make']): Promise<readonly number[]> {
  try {
    return await make();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return [];
  }
}
