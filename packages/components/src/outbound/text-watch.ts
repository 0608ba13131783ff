/** Looks for one text in bytes that come in pieces, wherever the pieces are cut. */
export class TextWatch {
  readonly #text: Buffer;
  #tail: Buffer = Buffer.alloc(0);

  constructor(text: string) {
    this.#text = Buffer.from(text);
  }

  /** Whether the text ends somewhere in this piece. */
  sees(piece: Uint8Array): boolean {
    const joined = Buffer.concat([this.#tail, piece]);
    this.#tail = this.#text.length === 1 ? Buffer.alloc(0) : joined.subarray(1 - this.#text.length);
    return joined.includes(this.#text);
  }
}
