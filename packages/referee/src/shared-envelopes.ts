/** Keeps equal envelopes once. */

import type { SpawnEnvelope } from '@svc/artifacts/grants/spawn-envelope.ts';
import type { ResolvedCapsule } from './capsule-registry.ts';

/** The envelope of an artifact with sessions that run. */
export interface SharedEnvelope {
  readonly sha256: string;
  readonly envelope: SpawnEnvelope;
}

/** One envelope for all running sessions of the same artifact: the same bytes, lowered in the same environment, hold the same. */
export class SharedEnvelopes {
  readonly #byHash = new Map<string, SharedEnvelope & { holders: number }>();

  /** What one more session is to keep, and to give back by `release`. */
  hold({ sha256, envelope }: ResolvedCapsule): SharedEnvelope {
    const known = this.#byHash.get(sha256);
    if (known !== undefined) {
      known.holders += 1;
      return known;
    }
    const shared = { sha256, envelope, holders: 1 };
    this.#byHash.set(sha256, shared);
    return shared;
  }

  release({ sha256 }: SharedEnvelope): void {
    const shared = this.#byHash.get(sha256);
    if (shared === undefined) throw new Error(`no session holds ${sha256}`);
    shared.holders -= 1;
    if (shared.holders === 0) this.#byHash.delete(sha256);
  }
}
