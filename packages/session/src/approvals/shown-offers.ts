/** Has a person answer the questions of children while the task of the session runs: one is shown at a time, and none beside a question of that task. */

import type { Question } from '@svc/protocol/question.ts';
import type { SessionActivity } from '../task/activity.ts';
import type { PassedCall, Task } from '../task/task.ts';
import type { Approvals } from './approvals.ts';
import type { PassedQuestionsDeps } from './passed-questions.ts';
import { wordsOfAnswer } from './question-words.ts';

interface Offer {
  readonly task: Task;
  readonly passed: PassedCall;
  readonly question: Question;
}

interface ShownSession {
  readonly activity: Pick<SessionActivity, 'emit' | 'subscribe'>;
  readonly board: { readonly live: () => readonly Task[] };
  readonly approvals: Pick<Approvals, 'passed'> | null;
}

/** Offers the questions of one session, in the order in which they come. */
export function offersOf(session: ShownSession): PassedQuestionsDeps['offer'] {
  const { approvals, board } = session;
  const offers = new ShownOffers(session);
  return (task, passed) => {
    // Its turn comes at once.
    if (approvals === null || board.live()[0] === task) return null;
    const { question, over } = approvals.passed.offer(task, passed);
    offers.add({ task, passed, question });
    return over.then((end) => {
      if (end !== null) offers.answered(task, wordsOfAnswer(end.decision, end.option));
    });
  };
}

class ShownOffers {
  readonly #session: ShownSession;
  #offers: readonly Offer[] = [];

  constructor(session: ShownSession) {
    this.#session = session;
    session.activity.subscribe((told) => {
      if (told.kind === 'question') this.#hide(told.task);
      if (told.kind === 'task-settled') this.#over(told.task);
      if (told.kind !== 'question-settled') return;
      told.task.offered = null;
      // Behind what the others hear of that end.
      queueMicrotask(() => this.#show());
    });
  }

  add(offer: Offer): void {
    this.#offers = [...this.#offers, offer];
    this.#show();
  }

  /** A person has answered it before the turn of its task. */
  answered({ id }: Task, answer: string): void {
    const offer = this.#offers.find(({ task }) => task.id === id);
    if (offer !== undefined) this.#end(offer, answer);
  }

  #over({ id }: Task): void {
    const offer = this.#offers.find(({ task }) => task.id === id);
    if (offer !== undefined) this.#end(offer, null);
  }

  #end(offer: Offer, answer: string | null): void {
    const { task, question } = offer;
    const wasShown = task.offered !== null;
    task.offered = null;
    this.#offers = this.#offers.filter((each) => each !== offer);
    if (wasShown) this.#session.activity.emit({ kind: 'offer-over', task, question, answer });
    queueMicrotask(() => this.#show());
  }

  /** Another question is shown in its place, or its turn has come. */
  #hide(asking: Task): void {
    this.#offers = this.#offers.filter(({ task }) => task !== asking);
    for (const { task } of this.#offers) task.offered = null;
  }

  #show(): void {
    const { activity, board } = this.#session;
    const [first] = this.#offers;
    const isTaken = board.live().some(({ inputWait, offered }) => inputWait !== null || offered !== null);
    if (first === undefined || isTaken) return;
    const { task, passed, question } = first;
    const isAgain = passed.isShown === true;
    task.offered = question;
    passed.isShown = true;
    activity.emit({ kind: 'question-offered', task, question, isAgain });
  }
}
