/** Keeps pipes ready for launches to come, which Node cannot make by itself. */

import { closeSync, constants, existsSync, fchownSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

import { unlessRefusedLater } from '@svc/kit/files/unless-refused.ts';

/** Where pipes come from. */
interface PipeSource {
  /** Makes some. Answers a descriptor of each, of its read end and not blocking; none where the host makes no pipes for us. */
  readonly make: () => Promise<readonly number[]>;
  /** They have a name: a program that opens one end by way of a descriptor waits until another has the other end. */
  readonly areNamed: boolean;
}

/** Below this the next ones are made, while there are some left to launch with. */
const lowWater = 16;

/**
 * Pipes that nobody has used, for the launches to come. Node makes none itself: it gives a child sockets, which a program cannot open
 * by name, as `/dev/stdout`. They are made many at a time, because it takes a process to make them.
 */
export class PipePool {
  readonly #source: PipeSource;
  readonly #held: number[] = [];
  #making: Promise<void> | null = null;
  #madeNone = false;
  #isClosed = false;

  constructor(source: PipeSource) {
    this.#source = source;
  }

  /** Whether a program may get one as its input. Opened by name when all was written, it would wait for ever where pipes are named. */
  get servesInputs(): boolean {
    return !this.#source.areNamed;
  }

  /** A descriptor of each pipe, which the caller closes; null where the system makes no pipes for us. */
  async take(count: number): Promise<readonly number[] | null> {
    this.#madeNone = false;
    while (this.#held.length < count && !this.#madeNone && !this.#isClosed) await this.#made();
    if (this.#held.length < count || this.#isClosed) return null;
    const taken = this.#held.splice(0, count);
    void this.fill();
    return taken;
  }

  /** Makes more of them where few are left; what is being made already counts. So there are never more than those few and what is made at once. */
  async fill(): Promise<void> {
    if (this.#held.length < lowWater) await this.#made();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#making;
    for (const descriptor of this.#held.splice(0)) closeSync(descriptor);
  }

  #made(): Promise<void> {
    this.#making ??= this.#fill();
    return this.#making;
  }

  async #fill(): Promise<void> {
    try {
      const made = await this.#source.make();
      this.#held.push(...made);
      this.#madeNone = made.length === 0;
    } finally {
      this.#making = null;
    }
  }
}

const atOnce = 64;
const maxMs = 10_000;

/** Where a process finds its descriptors as files. */
export const ownDescriptors = '/proc/self/fd';

/**
 * Pipes that `svc-launch` makes and holds until they are opened here (`native/svc-launch/PLAN.md`, "Pipes"). They belong to `owner`, where
 * programs are somebody else: a process that opens one by name has to be its owner.
 */
export function helperPipes(helper: string, owner: number | null = null): PipeSource {
  const make = async (): Promise<readonly number[]> => {
    const opened = await openHeldByHelper({ helper, args: ['pipes', `${atOnce}`], ends });
    if (owner !== null) for (const descriptor of opened) fchownSync(descriptor, owner, owner);
    return opened;
  };
  return { make, areNamed: false };
}

interface HeldByHelper {
  readonly helper: string;
  readonly args: readonly string[];
  /** Its descriptors that are wanted. */
  readonly ends: readonly number[];
}

/** Opens what `svc-launch` makes and holds until then; the descriptors are the caller's to close. None where the system refuses it. */
export function openHeldByHelper({ helper, args, ends: wanted }: HeldByHelper): Promise<readonly number[]> {
  return unlessRefusedLater(async () => {
    const child = spawn(helper, args, { cwd: '/', env: {}, stdio: ['pipe', 'pipe', 'ignore'] });
    // It may be over before its input is closed.
    child.stdin.on('error', () => {});
    try {
      const isReady = await killedWhenLate(child, () => firstByte(child.stdout));
      return isReady ? openEach(wanted.map((end) => `/proc/${child.pid}/fd/${end}`)) : [];
    } finally {
      child.stdin.destroy();
      child.stdout.destroy();
    }
  }, []);
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
    unlessRefusedLater(async () => {
      if (!existsSync(ownDescriptors)) return [];
      const folder = mkdtempSync(join(directory, 'pipes-'));
      try {
        const paths = ends.map((end) => join(folder, `${end}`));
        const child = spawn('mkfifo', ['-m', '600', ...paths], { env: { PATH: '/usr/bin:/bin' }, stdio: 'ignore' });
        const areMade = await killedWhenLate(child, async () => (await once(child, 'exit'))[0] === 0);
        return areMade ? openEach(paths) : [];
      } finally {
        rmSync(folder, { recursive: true });
      }
    }, []);
  return { make, areNamed: true };
}

/** What `wait` comes to; the child is killed where that takes too long. */
async function killedWhenLate<T>(child: ChildProcess, wait: () => Promise<T>): Promise<T> {
  if (child.pid === undefined) throw (await once(child, 'error'))[0];
  const force = setTimeout(() => child.kill('SIGKILL'), maxMs);
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
