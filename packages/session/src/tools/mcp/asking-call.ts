/** A call during which the server may ask the sender of the task. */

import { AsyncLocalStorage } from 'node:async_hooks';

import type { JsonObject } from '@svc/protocol/json-object.ts';
import { type CallLimits, CallTime } from './call-time.ts';
import type { CallQuestions, FormAnswer } from './server-questions.ts';

/** The call during which a message came. Neither revision says in a question which call asks it. */
const asking = new AsyncLocalStorage<AskingCall>();

/** Its time does not run while a person is asked. */
export class AskingCall {
  readonly #questions: CallQuestions;
  readonly #time: CallTime;
  #asked = 0;
  /** What a question rejected with. */
  #failure: { readonly error: unknown } | null = null;

  constructor(questions: CallQuestions, limits: CallLimits) {
    this.#questions = questions;
    this.#time = new CallTime(limits);
  }

  /** Aborted when the call is to end. */
  get signal(): AbortSignal {
    return this.#time.signal;
  }

  /** Sends the call. What a question rejected with is what this rejects with. */
  async run<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await this.#time.during(() => asking.run(this, send));
    } catch (error) {
      throw this.#failure === null ? error : this.#failure.error;
    }
  }

  /** Answers a form of the call from which it came, and declines one that came outside of a call. */
  static async answer(form: JsonObject): Promise<FormAnswer> {
    const call = asking.getStore();
    return call === undefined ? { action: 'decline' } : await call.#answer(form);
  }

  async #answer(form: JsonObject): Promise<FormAnswer> {
    if (this.#time.isOver) return { action: 'cancel' };
    this.#asked += 1;
    if (this.#asked === 1) this.#time.asks(true);
    try {
      return await this.#questions.form(form);
    } catch (error) {
      this.#failure ??= { error };
      this.#time.abort(error);
      return { action: 'cancel' };
    } finally {
      this.#asked -= 1;
      if (this.#asked === 0) this.#time.asks(false);
    }
  }
}
