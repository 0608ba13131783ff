/** Ends a call of a component that takes too long. */

import type { Clock } from '@svc/kit/clock.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { maxTimerMs } from '@svc/kit/units.ts';

type DeadlineClock = Pick<Clock, 'monotonicMs' | 'after'>;

/**
 * How long a call may take. Time while it is paused does not count. It does not pass before what has come meanwhile was looked at: a session
 * that was stopped or busy finds the time over and the answer there at once.
 */
export class CallDeadline {
  #leftMs: number;
  #since = 0;
  #cancelTimer = (): void => {};
  #lastLook: NodeJS.Immediate | undefined;
  readonly #onPassed: () => void;
  readonly #clock: DeadlineClock;

  constructor(deadlineMs: number, onPassed: () => void, clock: DeadlineClock = systemClock) {
    this.#leftMs = deadlineMs;
    this.#clock = clock;
    this.#onPassed = onPassed;
  }

  run(): void {
    this.#since = this.#clock.monotonicMs();
    const look = (): void => {
      this.#lastLook = setImmediate(this.#onPassed);
    };
    this.#cancelTimer = this.#clock.after(Math.min(maxTimerMs, Math.max(0, this.#leftMs)), look);
  }

  pause(): void {
    this.stop();
    this.#leftMs -= this.#clock.monotonicMs() - this.#since;
  }

  stop(): void {
    this.#cancelTimer();
    clearImmediate(this.#lastLook);
  }
}
