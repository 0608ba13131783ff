/** Remembers which hosts a proxy refused to a program or did not reach for it, until the result of its work names them. */

import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { EgressDecision } from './egress-rules.ts';

const maxHosts = 5;
const maxReason = 300;

/** Each place once, with the reason; of more than five until they are taken, how many more. */
export class RefusedHosts {
  readonly #reasons = new Map<string, string>();
  #more = 0;

  add({ destination, verdict, reason }: EgressDecision): void {
    const place = destination ?? 'a place that its request did not name';
    if (verdict === 'allowed' || this.#reasons.has(place)) return;
    const what = verdict === 'refused' ? 'svc did not let it connect' : 'svc could not connect it';
    if (this.#reasons.size === maxHosts) this.#more += 1;
    else this.#reasons.set(place, `${what}: ${shortened(reason ?? place, maxReason)}`);
  }

  /** A sentence for each, which it forgets. */
  take(): readonly string[] {
    const more = this.#more === 0 ? [] : [`${this.#more} more places were refused or could not be reached`];
    const reasons = [...this.#reasons.values(), ...more];
    this.#reasons.clear();
    this.#more = 0;
    return reasons;
  }
}
