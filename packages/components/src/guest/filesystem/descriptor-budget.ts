/** Bounds how many files and directories a component may hold open. */

import { refuse } from './error-code.ts';

const mostOpen = 512;

/** How many descriptors, streams and directory listings one instance may hold at a time. */
export class DescriptorBudget {
  #open = 0;

  /** Counts one more; past the limit the guest's call ends with `quota`. */
  take(): void {
    if (!this.has(1)) refuse('quota');
    this.#open += 1;
  }

  /** Whether so many more may be taken. */
  has(count: number): boolean {
    return this.#open + count <= mostOpen;
  }

  give(): void {
    this.#open -= 1;
  }
}
