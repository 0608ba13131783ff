/** Says which refusals somebody should hear of at once (docs/boundary.md "Serious refusals"). */

import type { Clock } from '@svc/kit/clock.ts';
import { isMetadataHost } from '@svc/kit/net/address-class.ts';
import type { TraceEvent } from './events.ts';

type Refusal = Extract<TraceEvent, { readonly event_type: 'refusal' }>;
/** Why a refusal is serious. */
export type Serious = NonNullable<Refusal['serious']>;

/** For a person. */
export const seriousWords: Readonly<Record<Serious, string>> = {
  metadata: 'svc refused an address at which clouds give keys to any program',
  credential: 'svc refused a key where none belongs',
  many: 'svc has refused ten things within a minute',
};

const minuteMs = 60_000;
const many = 10;

/** The refusals of one session. */
export class SeriousRefusals {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** When the last ten were refused, the oldest first. */
  #recentMs: readonly number[] = [];
  readonly #saidMs = new Map<Serious, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Why this refusal is serious; null for one that is not, and where the same was said within the last minute. */
  of(refusal: SeriousQuestion): Serious | null {
    const nowMs = this.#clock.monotonicMs();
    this.#recentMs = [...this.#recentMs, nowMs].slice(-many);
    const [firstMs = 0] = this.#recentMs;
    const isMany = this.#recentMs.length === many && nowMs - firstMs < minuteMs;
    const found = [kindOf(refusal), isMany ? ('many' as const) : null];
    for (const serious of found) {
      if (serious === null || nowMs - (this.#saidMs.get(serious) ?? -minuteMs) < minuteMs) continue;
      this.#saidMs.set(serious, nowMs);
      return serious;
    }
    return null;
  }
}

interface SeriousQuestion extends Pick<Refusal, 'what' | 'name' | 'rule'> {
  /** Whether the host has led to such an address. */
  readonly isMetadata?: boolean;
}

function kindOf({ what, name, rule, isMetadata = false }: SeriousQuestion): Serious | null {
  if (what !== 'host') return null;
  if (isMetadata) return 'metadata';
  if (rule.startsWith('capabilities.credentials.')) return 'credential';
  return isMetadataHost(name.slice(0, name.lastIndexOf(':'))) ? 'metadata' : null;
}
