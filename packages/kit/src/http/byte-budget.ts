/** Bytes that many may hold together, and no more. What is held alone may be of any size. */
export class ByteBudget {
  readonly #maxBytes: number;
  #taken = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** False, and nothing taken, when it would be too much. */
  take(bytes: number): boolean {
    if (this.#taken > 0 && this.#taken + bytes > this.#maxBytes) return false;
    this.#taken += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
  }
}
