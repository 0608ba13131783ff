/** Counts what the answer to one request of the Model Context Protocol holds in memory until its client has taken it. */

import { briefAnswer } from '@svc/kit/http/byte-budget.ts';
import type { ByteQueue, Patience } from '@svc/kit/http/byte-queue.ts';

/** Room for one answer: the library makes it of one piece, so it is asked for before. */
export class AnswerRoom {
  readonly #answers: ByteQueue;
  readonly #holder: string | null;
  #taken = 0;
  #isOver = false;

  /** `holder` is whose share of them it takes from; null for who has none. */
  constructor(answers: ByteQueue, holder: string | null) {
    this.#answers = answers;
    this.#holder = holder;
  }

  /** Nobody waits for the answer any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Makes room for that many bytes in all, once others have given some back; up to 64 KiB need no room. False where no room came in time, or the
   * client has left.
   */
  async reserve(bytes: number, patience: Patience): Promise<boolean> {
    if (this.#isOver) return false;
    const more = (bytes > briefAnswer ? bytes : 0) - this.#taken;
    if (more <= 0) {
      this.#answers.giveBack(-more, this.#holder);
      this.#taken += more;
      return true;
    }
    if (!(await this.#answers.take(more, patience, this.#holder))) return false;
    if (this.#isOver) {
      this.#answers.giveBack(more, this.#holder);
      return false;
    }
    this.#taken += more;
    return true;
  }

  /** Gives everything back, when the client has the answer or has left. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#answers.giveBack(this.#taken, this.#holder);
  }
}

/** What reserves room. */
export type Room = Pick<AnswerRoom, 'isOver' | 'reserve'>;

/** For what a client may ask for again. */
export const readPatience: Patience = { withinMs: 10_000, maxBefore: 31 };

/** For what is given once, and held anyway: longer than a client may take nothing (docs/protocol.md "Limits"). */
export const callPatience: Patience = { withinMs: 70_000, maxBefore: Infinity };

/** On standard streams there is one client, and all that is held is for it. */
export const ownRoom: Room = { isOver: false, reserve: async () => true };

/** How many bytes it takes as JSON. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
