/** Gathers what one turn of the event loop brings, so that it goes out together. */

/** What comes first in a turn goes out at once with all that comes with it; the rest of the turn goes out together at its end. */
export class OncePerTurn {
  readonly #flush: () => void;
  #isDue = false;
  /** Set from the first flush of a turn of the event loop to the end of that turn. */
  #turn: NodeJS.Immediate | null = null;

  constructor(flush: () => void) {
    this.#flush = flush;
  }

  /** There is something to flush. */
  schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    if (this.#turn !== null) return;
    queueMicrotask(() => this.flush());
    this.#turn = setImmediate(() => {
      this.#turn = null;
      this.flush();
    });
  }

  /** Now. What flushes may find that there is nothing. */
  flush(): void {
    this.#isDue = false;
    this.#flush();
  }

  /** Nothing is flushed any more until there is something new. */
  end(): void {
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = null;
    this.#isDue = false;
  }
}
