/** Puts the questions that come up in the middle of one call, one at a time. */

/** The questions of one call: a task has one at a time. */
export class QuestionTurns {
  #last: Promise<unknown> = Promise.resolve();
  #open: Promise<unknown> | null = null;
  #isOver = false;
  #told: (waits: boolean) => void = () => {};

  /** Whether the call has ended, or its program goes on without it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The question that waits for a person; null where none does. Never rejects. */
  get open(): Promise<unknown> | null {
    return this.#open;
  }

  /** Calls `turn` once those before it are through. It never rejects. */
  async next<Answer>(turn: () => Promise<Answer>): Promise<Answer> {
    const answer = this.#last.then(turn);
    this.#last = answer;
    return await answer;
  }

  /** Marks a question of the turn at hand, which never rejects, as the one that waits. */
  async asking<Answer>(question: Promise<Answer>): Promise<Answer> {
    this.#open = question;
    this.#told(true);
    const answer = await question;
    this.#open = null;
    this.#told(false);
    return answer;
  }

  /** Calls back, in the place of the one before, when a question begins to wait for a person and when it is settled. */
  onQuestion(told: (waits: boolean) => void): void {
    this.#told = told;
  }

  /** Nothing more is asked. Resolves once the question that waits is settled. */
  async over(): Promise<void> {
    this.#isOver = true;
    await this.#last;
  }
}
