/** Opens regular files and nothing else: no device, pipe or directory. */

import { createHash } from 'node:crypto';
import { constants, fstatSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { isErrno } from '../diagnostics/system-reason.ts';
import { identityOf } from './file-identity.ts';
import { ioFault } from './io-fault.ts';
import { fill } from './read-up-to.ts';
import { fillSync } from './transfer-sync.ts';

const hashChunkBytes = 1024 * 1024;
/** Read without a thread. */
const maxAtOnce = 4096;

/** One open file. What is hashed and what is read come from the same descriptor, whatever happens to the path. */
export class RegularFile {
  /** What messages call the file: its path, unless it is a copy of something the operator knows by another name. */
  readonly label: string;
  readonly size: number;
  /** Equal for two opened files only when nothing was written to the file between the two. */
  readonly identity: string;
  readonly #handle: FileHandle;

  private constructor(label: string, handle: FileHandle, shape: { readonly size: number; readonly identity: string }) {
    this.label = label;
    this.#handle = handle;
    this.size = shape.size;
    this.identity = shape.identity;
  }

  /** Opens a regular file, which the caller closes. `E-IO-001` when it cannot be opened or is something else. */
  static async open(path: string, label: string = path): Promise<RegularFile> {
    const file = await RegularFile.openIfThere(path, label);
    if (file === null) throw new Diagnostic('E-IO-001', `cannot open ${label}: no such file or directory`);
    return file;
  }

  /** As `open`; null when there is nothing at the path. */
  static async openIfThere(path: string, label: string = path): Promise<RegularFile | null> {
    // Without O_NONBLOCK a FIFO at this place would hold the open, and a thread with it, for ever.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
      if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
      throw ioFault(error, `cannot open ${label}`);
    });
    if (handle === null) return null;
    try {
      return RegularFile.of(handle, label);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** What is open already. `E-IO-001` when it is no regular file; the caller closes the handle then. */
  static of(handle: FileHandle, label: string): RegularFile {
    const stat = fstatSync(handle.fd, { bigint: true });
    if (!stat.isFile()) throw new Diagnostic('E-IO-001', `cannot open ${label}: it is not a regular file`);
    return new RegularFile(label, handle, { size: Number(stat.size), identity: identityOf(stat) });
  }

  /** SHA-256 of the whole file, in lowercase hex. */
  async sha256(): Promise<string> {
    const hash = createHash('sha256');
    const chunk = Buffer.allocUnsafe(Math.max(1, Math.min(hashChunkBytes, this.size)));
    for (let position = 0; position < this.size;) {
      const filled = await this.#fill(chunk, position);
      if (filled === 0) break;
      hash.update(chunk.subarray(0, filled));
      position += filled;
    }
    return hash.digest('hex');
  }

  /** Exactly `length` bytes from `position`, or null when the file does not hold them. They are put into `place` if there is one. */
  async readAt(position: number, length: number, place?: Buffer): Promise<Buffer | null> {
    if (!Number.isSafeInteger(position) || position + length > this.size) return null;
    const bytes = place?.subarray(0, length) ?? Buffer.allocUnsafe(length);
    return (await this.#fill(bytes, position)) < length ? null : bytes;
  }

  /** Its bytes from the first on, once. */
  async *chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.#handle.createReadStream()) yield chunk as Buffer;
    } catch (error) {
      throw ioFault(error, `cannot read ${this.label}`);
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #fill(into: Buffer, position: number): Promise<number> {
    try {
      // A thread costs more than a read of a few bytes, which the kernel mostly has in memory already.
      if (into.length <= maxAtOnce) return fillSync(this.#handle.fd, into, position);
      return await fill(this.#handle.fd, into, position);
    } catch (error) {
      throw ioFault(error, `cannot read ${this.label}`);
    }
  }
}

/** The bytes of a regular file, opened when the first is asked for. `E-IO-001` when it cannot be opened or read, or is something else. */
export async function* chunksOfFile(path: string): AsyncGenerator<Buffer> {
  const file = await RegularFile.open(path);
  try {
    yield* file.chunks();
  } finally {
    await file.close();
  }
}
