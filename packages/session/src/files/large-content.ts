/** Reads and hashes larger files, into memory or a spool. */

import { createHash } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { type FileHandle, open, unlink } from 'node:fs/promises';

import { ByteBudget } from '@svc/kit/http/byte-budget.ts';
import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { fill, release, writeAll } from '@svc/kit/files/read-up-to.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import type { OpenedFile } from './export-root.ts';
import { demandAwaited, type FileContent, UnfinishedRead } from './hashed-content.ts';

/** Hashed at a time between two turns of the event loop: less than a millisecond's work. */
const sliceBytes = 512 * 1024;

const largestHeld = 8 * 1024 * 1024;

/** Reads files into memory while there is a budget for it, and the rest through spool files. */
export class LargeContents {
  readonly #spool: Spool;
  readonly #memory = new HeldMemory();

  constructor(spool: Spool) {
    this.#spool = spool;
  }

  /** Closes the descriptor of `file`. Rejects with the system's errors. */
  async read(file: OpenedFile): Promise<FileContent> {
    const memory = file.size <= largestHeld ? this.#memory.take(file.size) : undefined;
    return memory === undefined ? await this.#spoolOff(file) : await this.#hold(file, memory);
  }

  async #hold({ descriptor, size }: OpenedFile, memory: Buffer): Promise<FileContent> {
    try {
      const length = await fill(descriptor, memory.subarray(0, size), 0);
      const body = memory.subarray(0, length);
      const onDone = (isFree: boolean): void => this.#memory.giveBack(memory, isFree);
      return { sha256: await hashBytes(body), length, body, onDone };
    } catch (error) {
      this.#memory.giveBack(memory, true);
      throw error;
    } finally {
      release(descriptor);
    }
  }

  async #spoolOff(file: OpenedFile): Promise<FileContent> {
    try {
      const spooled = await this.#spool.create(file.size);
      try {
        const hashed = await hashFile(file, { copy: (slice) => writeAll(spooled.fd, slice) });
        return { ...hashed, body: spooled };
      } catch (error) {
        await spooled.close();
        throw error;
      }
    } finally {
      release(file.descriptor);
    }
  }
}

interface HashedFile {
  readonly sha256: string;
  /** Bytes hashed: the size at opening, unless the file was cut since. */
  readonly length: number;
}

interface Hashing {
  /** Takes each slice in order, which is used again afterwards. */
  readonly copy?: (slice: Buffer) => Promise<void>;
  /** Asked before each slice. */
  readonly isAwaited?: () => boolean;
}

/**
 * Hashes a file in slices, off the event loop in between; the next slice is read meanwhile. Leaves the descriptor open. Rejects with the system's
 * errors, and with `UnfinishedRead` once nobody waits for it.
 */
export async function hashFile(
  { descriptor, size }: OpenedFile,
  { copy = async () => undefined, isAwaited = () => true }: Hashing = {},
): Promise<HashedFile> {
  const digest = createHash('sha256');
  const needed = size > sliceBytes ? [0, 1] : [0];
  const slices = needed.map(() => Buffer.allocUnsafeSlow(Math.min(size, sliceBytes)));
  const read = async (turn: number, position: number): Promise<Buffer> => {
    const target = (slices[turn % 2] ?? Buffer.alloc(0)).subarray(0, Math.min(sliceBytes, size - position));
    return target.subarray(0, await fill(descriptor, target, position));
  };
  let length = 0;
  let slice = await read(0, 0);
  for (let turn = 1; slice.length > 0; turn += 1) {
    demandAwaited(isAwaited);
    length += slice.length;
    const copied = copy(slice);
    const next = read(turn, length);
    digest.update(slice);
    // Both are waited for whatever becomes of either: their memory and descriptors are theirs until then.
    const [written, following] = await Promise.allSettled([copied, next]);
    if (written.status === 'rejected') throw written.reason;
    if (following.status === 'rejected') throw following.reason;
    slice = following.value;
  }
  return { sha256: digest.digest('hex'), length };
}

async function hashBytes(bytes: Buffer): Promise<string> {
  if (bytes.length <= 2 * sliceBytes) return sha256Hex(bytes);
  const digest = createHash('sha256');
  for (let from = 0; from < bytes.length; from += sliceBytes) {
    digest.update(bytes.subarray(from, from + sliceBytes));
    await yieldToLoop();
  }
  return digest.digest('hex');
}

const atOnceBytes = 32 * 1024 * 1024;
const spareBytes = 8 * 1024 * 1024;
const smallestBytes = 128 * 1024;

/**
 * Memory for files that are read whole, within a budget. What comes back is used again: fresh memory for each file would cost more than
 * what is done with it.
 */
export class HeldMemory {
  #held = 0;
  #spare: Buffer[] = [];

  /** At least `size` bytes, with whatever was in them; undefined when the budget is spent. To be given back once. */
  take(size: number): Buffer | undefined {
    const capacity = Math.max(smallestBytes, 2 ** Math.ceil(Math.log2(size)));
    if (this.#held + capacity > atOnceBytes) return undefined;
    this.#held += capacity;
    const index = this.#spare.findIndex((buffer) => buffer.length === capacity);
    return index === -1 ? Buffer.allocUnsafeSlow(capacity) : this.#spare.splice(index, 1)[0];
  }

  /** `isFree` when nobody will look at the bytes again. */
  giveBack(memory: Buffer, isFree: boolean): void {
    this.#held -= memory.length;
    if (!isFree) return;
    this.#spare.push(memory);
    let kept = this.#spare.reduce((sum, { length }) => sum + length, 0);
    // The oldest go first: sizes that nobody asks for any more.
    while (kept > spareBytes) kept -= this.#spare.shift()?.length ?? 0;
  }
}

interface SpoolLimits {
  /** Limit for all open spool files together. Without another open one, a file of any size is spooled. */
  readonly bytes: number;
  /** Each is a descriptor beside that of its connection. */
  readonly files: number;
}

const spoolLimits: SpoolLimits = { bytes: 1024 * 1024 * 1024, files: 256 };

/**
 * Makes nameless files in a directory that only `svc` writes to: at most 256 at once, of 1 GiB together by default. They hold what readers
 * have asked for and not taken, on the disk of the trace.
 */
export class Spool {
  readonly #directory: string;
  readonly #bytes: ByteBudget;
  readonly #maxFiles: number;
  #open = 0;
  #made = 0;

  constructor(directory: string, { bytes, files } = spoolLimits) {
    this.#directory = directory;
    this.#bytes = new ByteBudget(bytes);
    this.#maxFiles = files;
  }

  /** A new, empty file for this process alone: its name is gone already, its bytes go when it is closed. Rejects with the system's errors, and with `UnfinishedRead` where there is no room. */
  async create(bytes: number): Promise<FileHandle> {
    if (this.#open === this.#maxFiles || !this.#bytes.take(bytes)) {
      throw new UnfinishedRead('EDQUOT', 'too much lies in spool files');
    }
    this.#open += 1;
    const giveBack = (): void => {
      this.#open -= 1;
      this.#bytes.giveBack(bytes);
    };
    try {
      const file = await this.#nameless();
      // Its types do not know that a file handle is one.
      (file as FileHandle & EventEmitter).once('close', giveBack);
      return file;
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  async #nameless(): Promise<FileHandle> {
    for (;;) {
      this.#made += 1;
      const path = `${this.#directory}/spool-${this.#made}`;
      try {
        const file = await open(path, 'wx+', 0o600);
        await unlink(path);
        return file;
      } catch (error) {
        // Left behind by a process that was killed between the two calls.
        if (!isErrno(error, 'EEXIST')) throw error;
      }
    }
  }
}
