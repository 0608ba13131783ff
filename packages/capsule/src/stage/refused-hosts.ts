/** Remembers which hosts a proxy refused to the server of a tool, until the result of its next call names them. */

import type { EgressDecision } from '@svc/sandbox/egress/egress-rules.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';

const mostHosts = 5;
const longestReason = 300;

/** Each place once, with the reason; of more than five between two calls, how many more. */
export class RefusedHosts {
  readonly #reasons = new Map<string, string>();
  #more = 0;

  add({ destination, verdict, reason }: EgressDecision): void {
    const place = destination ?? 'a place that its request did not name';
    if (verdict !== 'refused' || this.#reasons.has(place)) return;
    if (this.#reasons.size === mostHosts) this.#more += 1;
    else this.#reasons.set(place, shortened(reason ?? place, longestReason));
  }

  /** Their reasons, and forgets them. */
  take(): readonly string[] {
    const told = [...this.#reasons.values(), ...(this.#more === 0 ? [] : [`${this.#more} more refusals`])];
    this.#reasons.clear();
    this.#more = 0;
    return told;
  }
}
