import { appendFileSync } from 'node:fs';

import type { EgressDecision } from './egress-rules.ts';

/** A process may ask as often as it likes; what it asked first is what matters. */
const mostLines = 10_000;

/** The decisions of a proxy, a JSON line each, for whoever wonders what a command tried to reach. */
export class EgressLog {
  readonly #file: string;
  #lines = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** A line that cannot be written is lost: the decision was taken, and it stands. */
  write(decision: EgressDecision): void {
    this.#lines += 1;
    if (this.#lines > mostLines) return;
    try {
      appendFileSync(this.#file, `${JSON.stringify(decision)}\n`, { mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    }
  }
}
