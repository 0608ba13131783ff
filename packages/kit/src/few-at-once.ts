/** Lets a few pieces of work go on at once, and the others wait for their turn. */

import { yieldToLoop } from './yield-to-loop.ts';

/** What waits here is little, and most clients have a place for 256 streams. */
const maxWaiting = 1024;

/** Work that holds much memory while it is done, and ends by itself. */
export class FewAtOnce {
  readonly #most: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** So much waits that nothing more should be begun. */
  get isFull(): boolean {
    return this.#waiting.length >= maxWaiting;
  }

  /** Begins it in a turn of the event loop of its own. */
  async run<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#running < this.#most) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      await yieldToLoop();
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
