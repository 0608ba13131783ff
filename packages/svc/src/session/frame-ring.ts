/** The most recent values, in the order they came: a new one takes the place of the oldest once `capacity` is reached. */
export class FrameRing<Frame> {
  readonly #capacity: number;
  #slots: Frame[] = [];
  #oldest = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#slots.length;
  }

  /** The one whose place it took, if so. */
  push(frame: Frame): Frame | undefined {
    if (this.#slots.length < this.#capacity) {
      this.#slots.push(frame);
      return undefined;
    }
    const oldest = this.#slots[this.#oldest];
    this.#slots[this.#oldest] = frame;
    this.#oldest = (this.#oldest + 1) % this.#capacity;
    return oldest;
  }

  /** Everything held, oldest first. */
  toArray(): Frame[] {
    return [...this.#slots.slice(this.#oldest), ...this.#slots.slice(0, this.#oldest)];
  }

  /** As `toArray`, and holds nothing afterwards. */
  drain(): Frame[] {
    const frames = this.toArray();
    this.#slots = [];
    this.#oldest = 0;
    return frames;
  }
}
