/** Counts what a command writes, and cuts it where a limit says so. */

import { pipeline, type Readable, Transform } from 'node:stream';

/** What two outputs may take together. */
export class OutputBound {
  readonly #onFull: () => void;
  #left: number;
  #isFull = false;

  /** `onFull` is called once, when there was more than `most` bytes. */
  constructor(most: number | null, onFull: () => void) {
    this.#left = most ?? Infinity;
    this.#onFull = onFull;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** From now on no more than so many, what was granted before included where it is less. */
  lower(most: number): void {
    this.#left = Math.min(this.#left, most);
  }

  /** The same bytes up to the bound, and an end where the output ends. */
  count(output: Readable): Readable {
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        done(null, this.#taken(chunk));
      },
    });
    // An output that was closed by force ends in an error, which is the end of it.
    pipeline(output, counted, () => {});
    return counted;
  }

  #taken(chunk: Buffer): Buffer {
    const taken = chunk.subarray(0, Math.min(chunk.length, this.#left));
    this.#left -= taken.length;
    if (taken.length < chunk.length && !this.#isFull) {
      this.#isFull = true;
      this.#onFull();
    }
    return taken;
  }
}
