const longestTimerMs = 2 ** 31 - 1;

/** How long a call may take. Time while it is paused does not count. */
export class CallDeadline {
  #leftMs: number;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #onPassed: () => void;

  constructor(deadlineMs: number, onPassed: () => void) {
    this.#leftMs = deadlineMs;
    this.#onPassed = onPassed;
  }

  run(): void {
    this.#since = performance.now();
    this.#timer = setTimeout(this.#onPassed, Math.min(longestTimerMs, Math.max(0, this.#leftMs)));
  }

  pause(): void {
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#since;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
