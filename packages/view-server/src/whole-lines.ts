/** Finds how far the lines of a file are whole, and reads them in pieces, however long they are and while others go on writing. */

import type { LineFile } from '@svc/record/journal/line-file.ts';

/** Read and put at once. */
const pieceBytes = 256 * 1024;
/** Looked through at once: a file may have holes of any size. */
const lookedBytes = 64 * 1024 * 1024;
const lineFeed = 0x0a;

/** The byte behind the last line feed of a file, as far as it has been looked for. */
export class WholeLines {
  readonly #file: LineFile;
  /** No line feed comes between `#end` and here. */
  #looked = 0;
  #end = 0;

  constructor(file: LineFile) {
    this.#file = file;
  }

  /** Whether there is more of the file than was looked through: `end` is to be asked again. */
  get isBehind(): boolean {
    return this.#looked < this.#file.size;
  }

  /** How many bytes have come since the last line feed. */
  get unended(): number {
    return this.#looked - this.#end;
  }

  /** The byte behind the last line feed in what was looked through, which is now 64 MiB more; 0 without a line feed. Reads nothing twice. */
  end(): number {
    const end = Math.min(this.#file.size, this.#looked + lookedBytes);
    for (let to = end; to > this.#looked;) {
      const from = Math.max(this.#looked, to - pieceBytes);
      const at = this.#file.readAt(from, to - from).lastIndexOf(lineFeed);
      if (at >= 0) {
        this.#end = from + at + 1;
        break;
      }
      to = from;
    }
    this.#looked = Math.max(this.#looked, end);
    return this.#end;
  }

  /** The bytes from one place to another, in pieces; fewer where the file has become shorter. */
  *pieces(from: number, to: number): Generator<Buffer> {
    for (let at = from; at < to;) {
      const piece = this.#file.readAt(at, Math.min(pieceBytes, to - at));
      if (piece.length === 0) return;
      at += piece.length;
      yield piece;
    }
  }

  /** Whole lines from `at` on and before `end`, about a piece of them, one at least; null when the first has more than `most` bytes. */
  linesAt(at: number, end: number, most: number): Buffer | null {
    for (let length = pieceBytes; ; length *= 4) {
      const bytes = this.#file.readAt(at, Math.min(length, end - at));
      const last = bytes.lastIndexOf(lineFeed);
      if (last >= 0) return bytes.subarray(0, last + 1);
      if (length > most || bytes.length < length) return null;
    }
  }
}
