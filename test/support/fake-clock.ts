/** Stands in for time and chance. */

import type { Clock } from '@svc/kit/clock.ts';

/** Time that stands still until it is moved, and randomness that counts. */
export class FakeClock implements Clock {
  #now = 1_760_000_000_000;
  #drawn = 0;
  #timers: { at: number; callback: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  monotonicMs(): number {
    return this.#now;
  }

  randomBytes(size: number): Uint8Array {
    this.#drawn += 1;
    const [low, high] = [this.#drawn % 256, Math.floor(this.#drawn / 256)];
    return Uint8Array.from({ length: size }, (_, index) => {
      if (index === size - 1) return low;
      return index === size - 2 ? index + high : index;
    });
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }

  /** Moves time on and calls back what has come due, in order. */
  advance(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter((timer) => timer.at <= this.#now).toSorted((a, b) => a.at - b.at);
    this.#timers = this.#timers.filter((timer) => timer.at > this.#now);
    for (const timer of due) timer.callback();
  }
}
