/** Reads and writes open files at once, without a thread, and whole even where the kernel takes them in parts. */

import { fstatSync, ftruncateSync, readSync, writeSync, writevSync } from 'node:fs';

/**
 * Fills as much of `target` as the file has from `position` on, or from where it stands for null. Returns the bytes read, fewer only at the end
 * of the file. Throws what the system refuses.
 */
export function fillSync(descriptor: number, target: NodeJS.ArrayBufferView, position: number | null): number {
  let filled = 0;
  while (filled < target.byteLength) {
    const place = position === null ? null : position + filled;
    const count = readSync(descriptor, target, filled, target.byteLength - filled, place);
    if (count === 0) break;
    filled += count;
  }
  return filled;
}

/** Writes all bytes at `position`, or where the file stands for null. Throws what the system refuses; a part may have been written then. */
export function writeAllSync(descriptor: number, bytes: Uint8Array, position: number | null = null): void {
  for (let written = 0; written < bytes.length;) {
    const place = position === null ? null : position + written;
    written += writeSync(descriptor, bytes, written, bytes.length - written, place);
  }
}

/**
 * Appends all pieces, or none where the system refuses: what a disk that was filling up has taken of them is cut off again. For a file that
 * nobody else writes to.
 */
export function appendWhole(descriptor: number, pieces: readonly Uint8Array[]): void {
  let written = 0;
  try {
    const [only] = pieces;
    written = pieces.length === 1 && only !== undefined ? writeSync(descriptor, only) : writevSync(descriptor, pieces);
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (written === length) return;
    // Only a disk that is filling up takes a part; the rest then meets the error.
    const bytes = Buffer.concat(pieces);
    while (written < length) written += writeSync(descriptor, bytes, written);
  } catch (error) {
    if (written > 0) ftruncateSync(descriptor, fstatSync(descriptor).size - written);
    throw error;
  }
}
