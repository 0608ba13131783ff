/** A call during which the server may ask the sender of the task. */

import { AsyncLocalStorage } from 'node:async_hooks';

import { CallDeadline } from '@svc/components/call-deadline.ts';
import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { CallQuestions, FormAnswer } from './server-questions.ts';

/** The call during which a message came. Neither revision says in a question which call asks it. */
const asking = new AsyncLocalStorage<AskingCall>();

interface AskingLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** The reason of `signal` when the time is over. */
  readonly late: () => Error;
}

/** Its time does not run while a person is asked. */
export class AskingCall {
  readonly #questions: CallQuestions;
  readonly #over = new AbortController();
  readonly #deadline: CallDeadline;
  readonly #caller: AbortSignal;
  #asked = 0;
  #isEnded = false;
  /** What a question rejected with. */
  #failure: { readonly error: unknown } | null = null;

  constructor(questions: CallQuestions, { signal, timeoutMs, late }: AskingLimits) {
    this.#questions = questions;
    this.#caller = signal;
    this.#deadline = new CallDeadline(timeoutMs, () => this.#over.abort(late()));
  }

  /** Aborted when the call is to end. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Sends the call. What a question rejected with is what this rejects with. */
  async run<T>(send: () => Promise<T>): Promise<T> {
    const onAbort = (): void => this.#over.abort(this.#caller.reason);
    this.#caller.addEventListener('abort', onAbort, { once: true });
    if (this.#caller.aborted) onAbort();
    this.#deadline.run();
    try {
      return await asking.run(this, send);
    } catch (error) {
      throw this.#failure === null ? error : this.#failure.error;
    } finally {
      this.#isEnded = true;
      this.#deadline.stop();
      this.#caller.removeEventListener('abort', onAbort);
    }
  }

  /** Answers a form of the call from which it came, and declines one that came outside of a call. */
  static async answer(form: JsonObject): Promise<FormAnswer> {
    const call = asking.getStore();
    return call === undefined ? { action: 'decline' } : await call.#answer(form);
  }

  async #answer(form: JsonObject): Promise<FormAnswer> {
    if (this.#isEnded || this.#over.signal.aborted) return { action: 'cancel' };
    this.#asked += 1;
    if (this.#asked === 1) this.#deadline.pause();
    try {
      return await this.#questions.form(form);
    } catch (error) {
      this.#failure ??= { error };
      this.#over.abort(error);
      return { action: 'cancel' };
    } finally {
      this.#asked -= 1;
      if (this.#asked === 0 && !this.#isEnded) this.#deadline.run();
    }
  }
}
