/** Ends a call of a component that takes too long. */

import { longestTimerMs } from '@svc/kit/units.ts';

/**
 * How long a call may take. Time while it is paused does not count. It does not pass before what has come meanwhile was looked at: a session
 * that was stopped or busy finds the time over and the answer there at once.
 */
export class CallDeadline {
  #leftMs: number;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;
  #lastLook: NodeJS.Immediate | undefined;
  readonly #onPassed: () => void;

  constructor(deadlineMs: number, onPassed: () => void) {
    this.#leftMs = deadlineMs;
    this.#onPassed = onPassed;
  }

  run(): void {
    this.#since = performance.now();
    const look = (): void => {
      this.#lastLook = setImmediate(this.#onPassed);
    };
    this.#timer = setTimeout(look, Math.min(longestTimerMs, Math.max(0, this.#leftMs)));
  }

  pause(): void {
    this.stop();
    this.#leftMs -= performance.now() - this.#since;
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#lastLook);
  }
}
