/** Gathers the pieces of a body without a copy for each. */

/** Pieces from this size on are kept as they came; smaller ones are copied together into blocks that hold this at most. */
const blockBytes = 64 * 1024;
const firstBlockBytes = 1024;

/**
 * Bytes that come in pieces of any size and are wanted whole. They take about the memory of what they hold, although a sender chooses to write them one
 * by one: a buffer for each byte would take a hundred times as much.
 */
export class GatheredBytes {
  #pieces: Buffer[] = [];
  /** The last piece while it has room: its block, with `#used` bytes taken. */
  #block: Buffer | null = null;
  #used = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(piece: Buffer): void {
    this.#length += piece.length;
    if (piece.length >= blockBytes) {
      this.#seal();
      this.#pieces.push(piece);
      return;
    }
    const block = this.#roomFor(piece.length);
    piece.copy(block, this.#used);
    this.#used += piece.length;
  }

  /** All of it, which is given away: what is appended afterwards is another whole. */
  take(): Buffer {
    this.#seal();
    const [first, ...others] = this.#pieces;
    const whole = first !== undefined && others.length === 0 ? first : Buffer.concat(this.#pieces, this.#length);
    this.#pieces = [];
    this.#length = 0;
    return whole;
  }

  /** All of it with a last piece, which is not copied where it is all there is. */
  takeWith(last: Buffer): Buffer {
    if (this.#length === 0) return last;
    this.append(last);
    return this.take();
  }

  /** A block grows with what it holds, up to the size of one. */
  #roomFor(bytes: number): Buffer {
    const block = this.#block;
    const wanted = this.#used + bytes;
    if (block !== null && wanted <= block.length) return block;
    if (block !== null && wanted > blockBytes) this.#seal();
    const size = Math.min(blockBytes, Math.max(firstBlockBytes, 2 * (this.#used + bytes)));
    const larger = Buffer.allocUnsafeSlow(size);
    this.#block?.copy(larger, 0, 0, this.#used);
    this.#block = larger;
    return larger;
  }

  #seal(): void {
    if (this.#block !== null) this.#pieces.push(this.#block.subarray(0, this.#used));
    this.#block = null;
    this.#used = 0;
  }
}
