import { CallDeadline } from '@svc/components/call-deadline.ts';

/**
 * The time that hooks have together once the session is to stop: it runs while at least one of them is waited for, and when it is
 * used up, `signal` is aborted for good. Before the stop nothing is counted.
 */
export class EndBudget {
  readonly #stop: AbortSignal;
  readonly #left: CallDeadline;
  readonly #over = new AbortController();
  #waited = 0;

  constructor(stop: AbortSignal, budgetMs: number) {
    this.#stop = stop;
    this.#left = new CallDeadline(budgetMs, () => this.#over.abort(new Error('the session had to end')));
    stop.addEventListener('abort', () => this.#waited > 0 && this.#left.run(), { once: true });
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** What `work` comes to; its time counts. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#waited += 1;
    if (this.#waited === 1 && this.#stop.aborted) this.#left.run();
    try {
      return await work();
    } finally {
      this.#waited -= 1;
      if (this.#waited === 0 && this.#stop.aborted) this.#left.pause();
    }
  }
}
