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
    return Uint8Array.from({ length: size }, (_, index) => (index === size - 1 ? this.#drawn % 256 : index));
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
