const atOnceBytes = 32 * 1024 * 1024;
const spareBytes = 8 * 1024 * 1024;
const smallestBytes = 128 * 1024;

/**
 * Memory for files that are read whole, within a budget. What comes back is used again: fresh memory for each file would cost more than
 * what is done with it.
 */
export class HeldMemory {
  #held = 0;
  #spare: Buffer[] = [];

  /** At least `size` bytes, with whatever was in them; undefined when the budget is spent. To be given back once. */
  take(size: number): Buffer | undefined {
    const capacity = Math.max(smallestBytes, 2 ** Math.ceil(Math.log2(size)));
    if (this.#held + capacity > atOnceBytes) return undefined;
    this.#held += capacity;
    const index = this.#spare.findIndex((buffer) => buffer.length === capacity);
    return index === -1 ? Buffer.allocUnsafeSlow(capacity) : this.#spare.splice(index, 1)[0];
  }

  /** `isFree` when nobody will look at the bytes again. */
  giveBack(memory: Buffer, isFree: boolean): void {
    this.#held -= memory.length;
    if (!isFree) return;
    this.#spare.push(memory);
    let kept = this.#spare.reduce((sum, { length }) => sum + length, 0);
    // The oldest go first: sizes that nobody asks for any more.
    while (kept > spareBytes) kept -= this.#spare.shift()?.length ?? 0;
  }
}
