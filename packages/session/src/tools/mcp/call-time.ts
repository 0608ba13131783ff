/** The time that the server of a call may take. */

import { CallDeadline } from '@svc/components/call-deadline.ts';

export interface CallLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** The reason of `signal` when the time is over. */
  readonly late: () => Error;
}

/** The time of one call, which does not run while a person is asked. */
export class CallTime {
  readonly #over = new AbortController();
  readonly #deadline: CallDeadline;
  readonly #caller: AbortSignal;
  #isEnded = false;

  constructor({ signal, timeoutMs, late }: CallLimits) {
    this.#caller = signal;
    this.#deadline = new CallDeadline(timeoutMs, () => this.#over.abort(late()));
  }

  /** Aborted when the call is to end. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Whether the call has its answer, or is to end. */
  get isOver(): boolean {
    return this.#isEnded || this.#over.signal.aborted;
  }

  abort(reason: unknown): void {
    this.#over.abort(reason);
  }

  /** A question begins to wait for a person, or none waits any more. */
  asks(waits: boolean): void {
    if (this.#isEnded) return;
    if (waits) this.#deadline.pause();
    else this.#deadline.run();
  }

  /** Sends the call. */
  async during<T>(send: () => Promise<T>): Promise<T> {
    const onAbort = (): void => this.#over.abort(this.#caller.reason);
    this.#caller.addEventListener('abort', onAbort, { once: true });
    if (this.#caller.aborted) onAbort();
    this.#deadline.run();
    try {
      return await send();
    } finally {
      this.#isEnded = true;
      this.#deadline.stop();
      this.#caller.removeEventListener('abort', onAbort);
    }
  }
}
