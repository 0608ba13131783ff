/** Keeps a message that is being typed apart from an answer that is being typed, so that each is sent where it was meant to go. */

import type { LinePrompt } from '@svc/terminal/keyboard/line-prompt.ts';
import type { Question } from '@svc/protocol/question.ts';

/**
 * Two lines; the user types into the one for the answer while a question waits, else into the one for the message. A message that was begun stays as it is behind
 * an answer. An answer that was begun stays in its line when its question waits no more, until it is cleared: svc sends it nowhere else.
 */
export class ChatPrompts {
  readonly #message: LinePrompt;
  readonly #answer: LinePrompt;
  #asked: Question | null = null;
  /** An answer to it is on its way. */
  #answered: Question | null = null;

  constructor(message: LinePrompt, answer: LinePrompt) {
    this.#message = message;
    this.#answer = answer;
  }

  /** The question that waits now, which is looked at before each key and each frame. */
  turnTo(waiting: Question | null): void {
    const next = isSame(waiting, this.#answered) ? null : waiting;
    if (isSame(next, this.#asked)) return;
    if (this.#asked !== null && !this.#answer.isEmpty) return;
    this.#asked = next;
    this.#answer.set('');
  }

  /** The line that is typed into. */
  get current(): LinePrompt {
    return this.#asked === null ? this.#message : this.#answer;
  }

  /** What that line answers; null for a message. */
  get asked(): Question | null {
    return this.#asked;
  }

  /** Whether a message that was begun stands back. */
  get isSetAside(): boolean {
    return this.#asked !== null && !this.#message.isEmpty;
  }

  /** The answer is sent: its line is left. */
  answered(question: Question): void {
    this.#answered = question;
    this.#answer.set('');
    this.turnTo(null);
  }

  /** Puts a text back that came to nothing: into the line that it was typed into, unless something else stands there. */
  giveBack(text: string, question: Question | null): void {
    if (question === null) {
      if (this.#message.isEmpty) this.#message.set(text);
      return;
    }
    if (isSame(question, this.#answered)) this.#answered = null;
    if (!this.#answer.isEmpty) return;
    this.#asked = question;
    this.#answer.set(text);
  }
}

function isSame(a: Question | null, b: Question | null): boolean {
  return a?.taskId === b?.taskId && a?.waitId === b?.waitId;
}
