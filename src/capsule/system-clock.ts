import { randomBytes } from 'node:crypto';

import type { SessionClock } from '../session/clock.ts';

/** The machine's own clock and randomness. */
export const systemClock: SessionClock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  randomBytes: (size) => randomBytes(size),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
