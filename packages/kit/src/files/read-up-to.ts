/** Reads no more bytes of a stream or a file than the caller can use; reads and writes open files, whole even where the kernel takes them in parts. */

import { closeSync, constants, fstatSync, openSync, readSync, read, write } from 'node:fs';
import { promisify } from 'node:util';

import { isErrno } from '../diagnostics/system-reason.ts';
import { GatheredBytes } from '../gathered-bytes.ts';
import { unlessRefused } from './unless-refused.ts';

/** All bytes of a stream; undefined once they exceed `maxBytes`, the rest being left unread. Rejects when the stream does not end well. */
export async function readUpTo(stream: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer | undefined> {
  const gathered = new GatheredBytes();
  for await (const chunk of stream) {
    gathered.append(chunk);
    if (gathered.length > maxBytes) return undefined;
  }
  return gathered.take();
}

/**
 * Returns all bytes of the regular file at a path, or those that an open file still has; undefined when they exceed `maxBytes`. It reads one byte more
 * at most. Throws what the system refuses, and `EFTYPE` for a pipe or a device, unless the path means a descriptor that this process was given, as
 * `<(…)` of a shell does. Throws `EAGAIN` for a pipe that stays silent for ten seconds. A descriptor stays open.
 */
export function readFileUpTo(file: string | number, maxBytes: number): Buffer | undefined {
  if (typeof file === 'number') return readOpenFile(file, maxBytes);
  // Without waiting: nobody may ever write into a pipe that lies at a path.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = fstatSync(descriptor);
    // Reading a directory says what it is.
    if (!stat.isFile() && !stat.isDirectory() && !givenPath.test(file)) throw noRegularFile(file);
    return readOpenFile(descriptor, maxBytes);
  } finally {
    closeSync(descriptor);
  }
}

/** What a descriptor of this process is called: its starter has opened it. */
const givenPath = /^\/(?:dev\/(?:stdin|fd\/\d+)|proc\/self\/fd\/\d+)$/;

function noRegularFile(path: string): Error {
  return Object.assign(new Error(`EFTYPE: ${path}`), { code: 'EFTYPE', syscall: 'open' });
}

const smallestRead = 4096;

function readOpenFile(descriptor: number, maxBytes: number): Buffer | undefined {
  // The size is a guess: a pipe has none, and a file may be growing.
  let buffer = Buffer.allocUnsafe(Math.min(fstatSync(descriptor).size, maxBytes) + 1);
  let filled = 0;
  for (;;) {
    const count = readInTime(descriptor, buffer, filled);
    filled += count;
    if (filled > maxBytes) return undefined;
    if (count === 0) return buffer.subarray(0, filled);
    if (filled < buffer.length) continue;
    const larger = Buffer.allocUnsafe(Math.min(buffer.length * 2 + smallestRead, maxBytes + 1));
    buffer.copy(larger);
    buffer = larger;
  }
}

const lookEveryMs = 10;
const maxLooks = 1000;

/** The bytes that were read; a writer that has the other end of a pipe may take its time. */
function readInTime(descriptor: number, buffer: Buffer, from: number): number {
  for (let looks = 1; ; looks += 1) {
    try {
      return readSync(descriptor, buffer, from, buffer.length - from, null);
    } catch (error) {
      if (!isErrno(error, 'EAGAIN') || looks === maxLooks) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lookEveryMs);
  }
}

const readAt = promisify(read);
const writeAt = promisify(write);

/** Closes a descriptor that was only read from: at once, since handing that to another thread would cost more. A failure changes nothing. */
export function release(descriptor: number): void {
  unlessRefused(() => closeSync(descriptor), undefined);
}

/** Fills as much of `target` as the file has from `position` on; resolves to the bytes read, fewer only at the end of the file. */
export async function fill(descriptor: number, target: Buffer, position: number): Promise<number> {
  let filled = 0;
  while (filled < target.length) {
    const { bytesRead } = await readAt(descriptor, target, filled, target.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

export async function writeAll(descriptor: number, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await writeAt(descriptor, bytes, written, bytes.length - written, null);
    written += bytesWritten;
  }
}
