import type { OpenedFile } from './file-host.ts';

const blockSize = 4096;

/** No more of one file is ever read or kept than this. */
export const maxBytesRead: number = 512 * blockSize;

/**
 * Reads pieces of a file whose own numbers say where they are. A piece that is not wholly inside the file, or past what
 * may be read of one file, is null; blocks are read once.
 */
export class BoundedBytes {
  readonly #file: OpenedFile;
  readonly #blocks = new Map<number, Buffer>();

  constructor(file: OpenedFile) {
    this.#file = file;
  }

  /** Exactly `length` bytes from `offset`. */
  piece(offset: number, length: number): Buffer | null {
    if (!Number.isSafeInteger(offset) || offset < 0 || length < 0 || offset + length > this.#file.size) return null;
    const first = Math.floor(offset / blockSize);
    const last = Math.floor((offset + Math.max(length, 1) - 1) / blockSize);
    if (last - first >= maxBytesRead / blockSize) return null;
    const blocks: Buffer[] = [];
    for (let index = first; index <= last; index += 1) {
      const block = this.#block(index);
      if (block === null) return null;
      blocks.push(block);
    }
    const [only] = blocks;
    const joined = blocks.length === 1 && only !== undefined ? only : Buffer.concat(blocks);
    const start = offset - first * blockSize;
    // Shorter when the file was cut while we read it.
    return joined.length < start + length ? null : joined.subarray(start, start + length);
  }

  /** The text from `offset` to a NUL, which has to come within `maxLength` bytes. */
  text(offset: number, maxLength: number): string | null {
    const end = Math.min(offset + maxLength, this.#file.size);
    for (let length = Math.min(256, end - offset); length > 0; length = Math.min(length * 8, end - offset)) {
      const piece = this.piece(offset, length);
      if (piece === null) return null;
      const stop = piece.indexOf(0);
      if (stop !== -1) return piece.toString('utf8', 0, stop);
      if (length === end - offset) return null;
    }
    return null;
  }

  #block(index: number): Buffer | null {
    const kept = this.#blocks.get(index);
    if (kept !== undefined) return kept;
    if (this.#blocks.size >= maxBytesRead / blockSize) return null;
    const block = this.#file.read(index * blockSize, blockSize);
    this.#blocks.set(index, block);
    return block;
  }
}
