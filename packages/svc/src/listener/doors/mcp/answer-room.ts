/** Counts what the answer to one request of the Model Context Protocol holds in memory until its client has taken it. */

import { briefAnswer, type ByteBudget } from '@svc/kit/http/byte-budget.ts';
import { jsonLength } from '@svc/protocol/json-length.ts';

/** Room for one answer: the library makes it of one piece, so it is asked for before. */
export class AnswerRoom {
  readonly #answers: ByteBudget;
  #taken = 0;
  #isOver = false;

  constructor(answers: ByteBudget) {
    this.#answers = answers;
  }

  /** Nobody waits for the answer any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Has room for that many bytes in all, once others have given some back; up to 64 KiB need none. False where none came within that time, or the
   * client has left.
   */
  async reserve(bytes: number, withinMs: number): Promise<boolean> {
    if (this.#isOver) return false;
    const more = (bytes > briefAnswer ? bytes : 0) - this.#taken;
    if (more <= 0) {
      this.#answers.giveBack(-more);
      this.#taken += more;
      return true;
    }
    if (!(await this.#answers.takeInTurn(more, withinMs))) return false;
    if (this.#isOver) {
      this.#answers.giveBack(more);
      return false;
    }
    this.#taken += more;
    return true;
  }

  /** Gives everything back, when the client has the answer or has left. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#answers.giveBack(this.#taken);
  }
}

/** What reserves room. */
export type Room = Pick<AnswerRoom, 'isOver' | 'reserve'>;

/** On standard streams there is one client, which holds nothing but its own. */
export const ownRoom: Room = { isOver: false, reserve: async () => true };

/** About how many bytes an answer that the door has made takes as JSON: what its texts do. */
export function textBytes(answer: unknown): number {
  if (typeof answer === 'string') return jsonLength(answer);
  if (typeof answer !== 'object' || answer === null) return 0;
  return Object.values(answer).reduce<number>((bytes, value) => bytes + textBytes(value), 0);
}
