/** Says how many signatures there are of archives, and asks the store for each of them only now and then. */

import { systemClock } from '@svc/kit/system-clock.ts';
import type { SignatureStore } from './signature-store.ts';

/** A signature that came is counted so much later at most. */
const freshMs = 2_000;
const asksAtOnce = 32;
const mostKept = 10_000;

interface Count {
  readonly signatures: number;
  readonly askedAtMs: number;
}

/** Counts of the last seconds. */
export class SignatureCounts {
  readonly #store: Pick<SignatureStore, 'count'>;
  readonly #counts = new Map<string, Count>();

  constructor(store: Pick<SignatureStore, 'count'>) {
    this.#store = store;
  }

  /** How many signatures the store has for each of these hashes. */
  async of(hashes: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const now = systemClock.monotonicMs();
    const counted = new Map<string, number>();
    const waiting = new Set(hashes).values();
    const work = async (): Promise<void> => {
      for (const sha256 of waiting) counted.set(sha256, await this.#count(sha256, now));
    };
    await Promise.all(Array.from({ length: asksAtOnce }, work));
    return counted;
  }

  /** Counts anew what this server was brought. */
  forget(sha256: string): void {
    this.#counts.delete(sha256);
  }

  async #count(sha256: string, now: number): Promise<number> {
    const known = this.#counts.get(sha256);
    if (known !== undefined && now - known.askedAtMs < freshMs) return known.signatures;
    const signatures = await this.#store.count(sha256);
    if (this.#counts.size >= mostKept) this.#counts.clear();
    this.#counts.set(sha256, { signatures, askedAtMs: now });
    return signatures;
  }
}
