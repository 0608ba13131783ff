/** Lets those wait for whom a budget of bytes has no room. */

import type { ByteBudget } from './byte-budget.ts';

/** How long one waits for room, and behind how many others. */
export interface Patience {
  readonly withinMs: number;
  readonly mostBefore: number;
}

interface Waiting {
  readonly bytes: number;
  readonly onRoom: () => void;
}

/** Those who wait for room in one budget, which has no other queue. Who does not wait passes them. */
export class ByteQueue {
  readonly #budget: ByteBudget;
  readonly #waiting = new Set<Waiting>();

  constructor(budget: ByteBudget) {
    this.#budget = budget;
    budget.onGivenBack = () => this.#letIn();
  }

  /** Takes them as soon as there is room, in the order of asking; false when none comes within that time, or too many wait already. */
  async take(bytes: number, { withinMs, mostBefore }: Patience): Promise<boolean> {
    if (this.#waiting.size === 0 && this.#budget.take(bytes)) return true;
    if (this.#waiting.size > mostBefore) return false;
    return await new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        resolve(false);
        // It may have stood before others for which there is room.
        this.#letIn();
      }, withinMs);
      const waiting = {
        bytes,
        onRoom: (): void => {
          clearTimeout(timer);
          resolve(true);
        },
      };
      this.#waiting.add(waiting);
    });
  }

  giveBack(bytes: number): void {
    this.#budget.giveBack(bytes);
  }

  #letIn(): void {
    for (const waiting of this.#waiting) {
      if (!this.#budget.take(waiting.bytes)) return;
      this.#waiting.delete(waiting);
      waiting.onRoom();
    }
  }
}
