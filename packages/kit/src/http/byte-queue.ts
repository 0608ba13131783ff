/** Lets those wait for whom a budget of bytes has no room. */

import type { ByteBudget } from './byte-budget.ts';

/** How long one waits for room, and behind how many others of the same holder. */
export interface Patience {
  readonly withinMs: number;
  readonly maxBefore: number;
}

interface Waiting {
  readonly bytes: number;
  readonly holder: string | null;
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

  /**
   * Takes them as soon as there is room, in the order of asking; false when none comes within that time, or too many of the holder wait already. Who waits
   * for what its own holder has keeps no other waiting.
   */
  async take(bytes: number, { withinMs, maxBefore }: Patience, holder: string | null = null): Promise<boolean> {
    const before = this.#waitingOf(holder);
    if (before === 0 && !this.#isRoomAwaited() && this.#budget.take(bytes, holder)) return true;
    if (before > maxBefore) return false;
    return await new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        resolve(false);
        // It may have stood before others for which there is room.
        this.#letIn();
      }, withinMs);
      const waiting = {
        bytes,
        holder,
        onRoom: (): void => {
          clearTimeout(timer);
          resolve(true);
        },
      };
      this.#waiting.add(waiting);
    });
  }

  giveBack(bytes: number, holder: string | null = null): void {
    this.#budget.giveBack(bytes, holder);
  }

  #waitingOf(holder: string | null): number {
    let waiting = 0;
    for (const each of this.#waiting) if (each.holder === holder) waiting += 1;
    return waiting;
  }

  /** Whether one of those who wait does so because the budget is full: the next ones wait behind. */
  #isRoomAwaited(): boolean {
    for (const { bytes, holder } of this.#waiting) if (this.#budget.shortageOf(bytes, holder) === 'full') return true;
    return false;
  }

  #letIn(): void {
    const atTheirShare = new Set<string | null>();
    for (const waiting of this.#waiting) {
      const { bytes, holder } = waiting;
      if (atTheirShare.has(holder)) continue;
      const shortage = this.#budget.shortageOf(bytes, holder);
      if (shortage === 'full') return;
      if (shortage === 'share') {
        atTheirShare.add(holder);
        continue;
      }
      this.#budget.take(bytes, holder);
      this.#waiting.delete(waiting);
      waiting.onRoom();
    }
  }
}
