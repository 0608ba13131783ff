/** Cuts what comes over a stream into lines. */

const lineFeed = 0x0a;

/** Bytes of a message that a client sends in a line, without the end of that line. */
export const maxMessage = 10 * 1024 * 1024;
/** Why a longer one is refused. */
export const tooLong = `a message must have at most ${maxMessage} bytes`;

/** A line without its end; `too-long` once for each that was longer than it may be, and whose text is dropped. */
export type ReadLine = Buffer | 'too-long';

/** Takes time in proportion to the bytes. */
export class Lines {
  readonly #longest: number;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** The lines that these bytes complete; empty ones are left out. */
  *read(bytes: Buffer): Generator<ReadLine, void> {
    let from = 0;
    for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, from)) {
      this.#keep(bytes.subarray(from, end));
      from = end + 1;
      const line = this.#length > this.#longest ? 'too-long' : Buffer.concat(this.#pieces);
      this.#pieces = [];
      this.#length = 0;
      if (line === 'too-long' || line.some((byte) => byte > 0x20)) yield line;
    }
    this.#keep(bytes.subarray(from));
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > this.#longest) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }
}
