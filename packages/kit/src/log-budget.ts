/** Bounds what the logs of a session hold together. */

/** The most bytes of all logs of a session. Each of them has a limit of its own besides. */
const maxLogBytes: number = 256 * 1024 * 1024;

/**
 * Bounds what a session keeps in its `logs/`: outputs of commands, long answers of servers, what programs behind the driver and tools complain of,
 * what hooks write, decisions of the egress proxy. A caller takes the bytes before it keeps them, and drops what it is not given.
 */
export class LogBudget {
  readonly maxBytes: number;
  #left: number;
  #isUsedUp = false;
  #onUsedUp: (() => void) | null = null;

  constructor(maxBytes: number = maxLogBytes) {
    this.maxBytes = maxBytes;
    this.#left = maxBytes;
  }

  /** Calls back once, as soon as something is dropped; at once where it has been. */
  observe(onUsedUp: () => void): void {
    this.#onUsedUp = onUsedUp;
    if (this.#isUsedUp) onUsedUp();
  }

  /** Stops the callbacks: the session is over and nobody reads them. */
  unobserve(): void {
    this.#onUsedUp = null;
  }

  /** How many of these bytes may be kept. */
  take(bytes: number): number {
    const given = Math.min(bytes, this.#left);
    this.#left -= given;
    if (given < bytes) this.#useUp();
    return given;
  }

  /** As `take`, of what is kept whole or not at all. */
  takeWhole(bytes: number): boolean {
    if (bytes <= this.#left) return this.take(bytes) === bytes;
    this.#useUp();
    return false;
  }

  #useUp(): void {
    if (this.#isUsedUp) return;
    this.#isUsedUp = true;
    this.#onUsedUp?.();
  }
}
