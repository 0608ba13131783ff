/** Holds the lines of a journal that go out in one write. */

import { hash } from 'node:crypto';

import { chainDigits } from './record-line.ts';

const firstSize = 16 * 1024;
/** A buffer that grew beyond this for a long line is not kept. */
const largestKept = 256 * 1024;
/** Bytes of UTF-8 that a character of a string comes to at most. */
const widest = 3;
/** `,"c":"0123456789abcdef"}` and the line feed, instead of the last brace of the record. */
const tailBytes = chainDigits + 8;

/** Each line is encoded once, right behind the one before it: it is hashed where it is written from. */
export class LineBuffer {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  /** The length of the lines that wait. */
  get length(): number {
    return this.#length;
  }

  /** Adds the line of a record, which is JSON with `k` first, and gives its chain (docs/journal.md "The chain"). */
  add(n: number, json: string, previous: string): string {
    const hashed = `${previous}{"n":${n},${json.slice(1)}`;
    const start = this.#length;
    this.#makeRoom(hashed.length * widest + tailBytes);
    const end = start + this.#bytes.write(hashed, start);
    const chain = hash('sha256', this.#bytes.subarray(start, end)).slice(0, chainDigits);
    // The line begins where the chain of the one before it stood for the hash, and ends before its last brace.
    this.#bytes.copyWithin(start, start + chainDigits, end - 1);
    const tail = end - 1 - chainDigits;
    this.#length = tail + this.#bytes.write(`,"c":"${chain}"}\n`, tail, 'latin1');
    return chain;
  }

  /** Takes the lines out. What is handed over is good until the next line is added. */
  take(): Buffer {
    const lines = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    if (this.#bytes.length > largestKept) this.#bytes = Buffer.alloc(0);
    return lines;
  }

  #makeRoom(bytes: number): void {
    const wanted = this.#length + bytes;
    if (wanted <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(wanted, this.#bytes.length * 2, firstSize));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
