/** The clock that every program runs with. */

import type { Clock } from './clock.ts';
import { earlyRandom } from './early-random.ts';

/** The machine's own clock and randomness, for every program. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // `performance` would be loaded for it, before a capsule listens.
  monotonicMs: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1000 + nanoseconds / 1e6;
  },
  randomBytes: earlyRandom(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
