import { createHash, hash } from 'node:crypto';
import { closeSync, createReadStream, readSync } from 'node:fs';
import { Readable } from 'node:stream';

import { fill, release, writeAll } from './descriptor-io.ts';
import type { OpenedFile } from './export-root.ts';
import type { Spool } from './spool.ts';

/** The bytes of one reading of a file, and the hash of exactly these bytes. */
export interface FileContent {
  readonly sha256: string;
  readonly length: number;
  readonly body: Buffer | Readable;
}

/** Up to here a file is read and hashed at once: handing it to another thread would cost more. */
export const smallFileBytes = 64 * 1024;

/** Hashed at a time between two turns of the event loop: a millisecond's work, about. */
const sliceBytes = 256 * 1024;

const largestHeld = 8 * 1024 * 1024;
const heldAtOnce = 32 * 1024 * 1024;

/**
 * Reads files whose hash has to be known before their first byte is sent: small ones at once, larger ones into memory while there is
 * a budget for it, and the rest through a spool file. A file is read once, up to the size it had when it was opened.
 */
export class FileContents {
  readonly #spool: Spool;
  #heldBytes = 0;

  constructor(spool: Spool) {
    this.#spool = spool;
  }

  /** Closes the descriptor of `file`. Throws, or rejects with, the system's errors. */
  read(file: OpenedFile): FileContent | Promise<FileContent> {
    if (file.size <= smallFileBytes) return readAtOnce(file);
    if (file.size <= largestHeld && this.#heldBytes + file.size <= heldAtOnce) return this.#hold(file);
    return this.#spoolOff(file);
  }

  async #hold(file: OpenedFile): Promise<FileContent> {
    this.#heldBytes += file.size;
    const giveBack = (): void => {
      this.#heldBytes -= file.size;
    };
    try {
      const bytes = Buffer.allocUnsafeSlow(file.size);
      const { sha256, length } = await hashFile(file, { into: bytes });
      return { sha256, length, body: readableOf(bytes.subarray(0, length), giveBack) };
    } catch (error) {
      giveBack();
      throw error;
    } finally {
      release(file.descriptor);
    }
  }

  async #spoolOff(file: OpenedFile): Promise<FileContent> {
    try {
      const spooled = await this.#spool.create();
      try {
        const { sha256, length } = await hashFile(file, { copy: (slice) => writeAll(spooled, slice) });
        return { sha256, length, body: readSpooled(spooled, length) };
      } catch (error) {
        release(spooled);
        throw error;
      }
    } finally {
      release(file.descriptor);
    }
  }
}

export interface HashedFile {
  readonly sha256: string;
  /** Bytes hashed: the size at opening, unless the file was cut since. */
  readonly length: number;
}

interface Sink {
  /** Takes the whole file. */
  readonly into?: Buffer;
  /** Takes each slice in order; the slice is used again afterwards. */
  readonly copy?: (slice: Buffer) => Promise<void>;
}

/** Hashes a file in slices, off the event loop in between. Leaves its descriptor open. */
export async function hashFile({ descriptor, size }: OpenedFile, sink: Sink = {}): Promise<HashedFile> {
  const digest = createHash('sha256');
  const scratch = sink.into ?? Buffer.allocUnsafeSlow(Math.min(size, sliceBytes));
  let position = 0;
  while (position < size) {
    const from = sink.into === undefined ? 0 : position;
    const target = scratch.subarray(from, from + Math.min(sliceBytes, size - position));
    const filled = await fill({ descriptor, target, position });
    const slice = target.subarray(0, filled);
    const copied = sink.copy?.(slice);
    digest.update(slice);
    await copied;
    position += filled;
    if (filled < target.length) break;
  }
  return { sha256: digest.digest('hex'), length: position };
}

/** Reads and hashes a small file in one go, and closes it. */
export function readAtOnce({ descriptor, size }: OpenedFile): FileContent & { readonly body: Buffer } {
  try {
    const bytes = Buffer.allocUnsafe(size);
    let length = 0;
    while (length < size) {
      const bytesRead = readSync(descriptor, bytes, length, size - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    const body = bytes.subarray(0, length);
    return { sha256: hash('sha256', body, 'hex'), length, body };
  } finally {
    closeSync(descriptor);
  }
}

function readableOf(bytes: Buffer, onDestroyed: () => void): Readable {
  return new Readable({
    read() {
      this.push(bytes);
      this.push(null);
    },
    destroy(error, done) {
      onDestroyed();
      done(error);
    },
  });
}

/** Closes the descriptor when it has ended or is destroyed. */
function readSpooled(descriptor: number, length: number): Readable | Buffer {
  if (length === 0) {
    release(descriptor);
    return Buffer.alloc(0);
  }
  return createReadStream('', {
    fd: descriptor,
    start: 0,
    end: length - 1,
    highWaterMark: sliceBytes,
    autoClose: true,
  });
}
