/** Writes down the decisions of the proxy, within a bound. */

import { appendFileSync } from 'node:fs';

import type { LogBudget } from '@svc/kit/log-budget.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { EgressDecision } from './egress-rules.ts';

/** A process may ask as often as it likes, and must not fill the disk by it. */
const mostLines = 10_000;

/**
 * The decisions of a proxy, a JSON line each, for an operator who wants to know what a command tried to reach. Once the log is full, a destination
 * that it does not know yet still gets its line, up to as many again; the last line then says that it is not whole.
 */
export class EgressLog {
  readonly #file: string;
  readonly #budget: LogBudget | undefined;
  readonly #seen = new Set<string>();
  #lines = 0;

  constructor(file: string, budget?: LogBudget) {
    this.#budget = budget;
    this.#file = file;
  }

  write(decision: EgressDecision): void {
    const isFull = this.#lines >= mostLines;
    const isNew = this.#isNew(decision);
    if (this.#lines > 2 * mostLines || (isFull && !isNew)) return;
    this.#lines += 1;
    this.#append(this.#lines > 2 * mostLines ? { truncated: true } : decision);
    if (this.#lines === mostLines) this.#append({ only_new_destinations_from_here: true });
  }

  #isNew({ destination, verdict }: EgressDecision): boolean {
    const key = `${verdict} ${destination}`;
    if (this.#seen.has(key) || this.#seen.size > 2 * mostLines) return false;
    this.#seen.add(key);
    return true;
  }

  /** A line that cannot be written is lost: the decision was taken, and it stands. */
  #append(line: EgressDecision | Readonly<Record<string, true>>): void {
    const text = `${JSON.stringify(line)}\n`;
    if (this.#budget?.takeWhole(Buffer.byteLength(text)) === false) return;
    unlessRefused(() => appendFileSync(this.#file, text, { mode: 0o600 }), undefined);
  }
}
