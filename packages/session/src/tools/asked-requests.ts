/** Has a person judge the requests that the component or the program of one call makes, one at a time. */

import type { HeldRequest, RequestJudge, RequestVerdict } from '@svc/kit/keys/bound-host.ts';
import type { QuestionTurns } from './question-turns.ts';
import type { CallVerdict, RequestQuestions } from './tool.ts';

/** Requests of one call that do not just pass. A program may try as often as it likes, and each is recorded. */
const maxAsked = 64;
const unaskable = refused('could not be judged');

/** The requests of one call. What was denied once stays denied in it, and nobody is asked about it again. */
export class AskedRequests implements RequestJudge {
  readonly #questions: RequestQuestions;
  readonly #turns: QuestionTurns;
  readonly #denied = new Map<string, RequestVerdict>();
  #asked = 0;

  constructor(questions: RequestQuestions, turns: QuestionTurns) {
    this.#questions = questions;
    this.#turns = turns;
  }

  asks(rule: string): boolean {
    return this.#questions.asks(rule);
  }

  async judge(request: HeldRequest, held: AbortSignal): Promise<RequestVerdict> {
    const answer = this.#turns.next(async () => await this.#judge(request, held));
    const answered = new AbortController();
    try {
      return await Promise.race([answer, this.#late(request, held, answered.signal)]);
    } finally {
      answered.abort();
    }
  }

  async #judge(request: HeldRequest, held: AbortSignal): Promise<RequestVerdict> {
    if (this.#turns.isOver) return refused('needs a person to approve it, and its call is over');
    if (held.aborted) return this.#notYet(request);
    const key = JSON.stringify(request);
    const known = this.#denied.get(key);
    if (known !== undefined) return known;
    this.#asked += 1;
    if (this.#asked > maxAsked) return refused('is one of too many of its call that need a person to approve them');
    const answered = new AbortController();
    const { signal } = answered;
    held.addEventListener('abort', () => this.#questions.left(request), { once: true, signal });
    // The session hears of what goes wrong where it asks.
    const verdict = await this.#turns.asking(this.#questions.ask(request).then(verdictOf, () => unaskable));
    answered.abort();
    if (verdict.kind === 'refused') this.#denied.set(key, verdict);
    return verdict;
  }

  /** `held` may be of many requests: nothing listens to it once `answered` is aborted. */
  #late(request: HeldRequest, held: AbortSignal, answered: AbortSignal): Promise<RequestVerdict> {
    return new Promise((resolve) => {
      const late = (): void => resolve(this.#notYet(request));
      if (held.aborted) late();
      else held.addEventListener('abort', late, { once: true, signal: answered });
    });
  }

  #notYet(request: HeldRequest): RequestVerdict {
    const id = this.#questions.open(request);
    const which = id === null ? '' : ` (${id})`;
    return refused(`waits for a person to approve it${which}: make it again, unchanged, to have the answer`);
  }
}

function refused(reason: string): Extract<RequestVerdict, { readonly kind: 'refused' }> {
  return { kind: 'refused', reason };
}

function verdictOf(verdict: CallVerdict): RequestVerdict {
  return verdict.kind === 'proceed' ? verdict : refused(`was not sent: ${verdict.reason}`);
}
