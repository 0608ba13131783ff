/** Remembers which hosts a proxy refused to a program, until the result of its work names them. */

import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { EgressDecision } from './egress-rules.ts';

const mostHosts = 5;
const longestReason = 300;

/** Each place once, with the reason; of more than five until they are taken, how many more. */
export class RefusedHosts {
  readonly #reasons = new Map<string, string>();
  #more = 0;

  add({ destination, verdict, reason }: EgressDecision): void {
    const place = destination ?? 'a place that its request did not name';
    if (verdict !== 'refused' || this.#reasons.has(place)) return;
    if (this.#reasons.size === mostHosts) this.#more += 1;
    else this.#reasons.set(place, shortened(reason ?? place, longestReason));
  }

  /** A sentence for each, which it forgets. */
  take(): readonly string[] {
    const reasons = [...this.#reasons.values(), ...(this.#more === 0 ? [] : [`${this.#more} more refusals`])];
    this.#reasons.clear();
    this.#more = 0;
    return reasons.map((reason) => `svc did not let it connect: ${reason}`);
  }
}
