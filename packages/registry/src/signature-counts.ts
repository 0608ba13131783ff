/** Says how many signatures there are of archives, and asks the store for each of them only now and then. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { SignatureStore } from './signature-store.ts';

/** A signature that came is counted so much later at most. */
const freshMs = 2_000;
const asksAtOnce = 32;
const maxKept = 10_000;

/** What was counted last, and whether that failed. */
interface Counted {
  readonly signatures: number | null;
  readonly hasFailed: boolean;
}

interface Count {
  /** One question for all that ask meanwhile. Never rejects for a fault of the store. */
  readonly answer: Promise<Counted>;
  /** Absent while it is under way. */
  endedAtMs?: number;
  last: number | null;
}

interface CountedStore {
  readonly store: Pick<SignatureStore, 'count'>;
  /** Called now and then for a store that fails. */
  readonly onFault: (fault: Diagnostic) => void;
}

/** Counts of the last seconds. */
export class SignatureCounts {
  readonly #store: CountedStore['store'];
  readonly #onFault: CountedStore['onFault'];
  readonly #counts = new Map<string, Count>();
  #toldAtMs = Number.NEGATIVE_INFINITY;

  constructor({ store, onFault }: CountedStore) {
    this.#store = store;
    this.#onFault = onFault;
  }

  /**
   * How many signatures the store has for each of these hashes. Where the store fails, what it said last, null if it never has; it is asked for no more of
   * them then.
   */
  async of(hashes: readonly string[]): Promise<ReadonlyMap<string, number | null>> {
    const counted = new Map<string, number | null>();
    const waiting = new Set(hashes).values();
    let isFailing = false;
    const work = async (): Promise<void> => {
      for (const sha256 of waiting) {
        if (isFailing) {
          counted.set(sha256, this.#counts.get(sha256)?.last ?? null);
          continue;
        }
        const { signatures, hasFailed } = await this.#count(sha256);
        isFailing ||= hasFailed;
        counted.set(sha256, signatures);
      }
    };
    await Promise.all(Array.from({ length: asksAtOnce }, work));
    return counted;
  }

  /** Counts anew what this server was brought, also where it is being counted. */
  forget(sha256: string): void {
    this.#counts.delete(sha256);
  }

  async #count(sha256: string): Promise<Counted> {
    const known = this.#counts.get(sha256);
    const { endedAtMs } = known ?? {};
    const isFresh = endedAtMs === undefined || systemClock.monotonicMs() - endedAtMs < freshMs;
    if (known !== undefined && isFresh) return await known.answer;
    const last = known?.last ?? null;
    const count: Count = { answer: this.#ask(sha256, last), last };
    // Behind all others: the first is the one that was asked for the longest ago.
    this.#counts.delete(sha256);
    for (const oldest of this.#counts.keys()) {
      if (this.#counts.size < maxKept) break;
      this.#counts.delete(oldest);
    }
    this.#counts.set(sha256, count);
    try {
      const counted = await count.answer;
      count.last = counted.signatures;
      return counted;
    } finally {
      count.endedAtMs = systemClock.monotonicMs();
    }
  }

  async #ask(sha256: string, last: number | null): Promise<Counted> {
    try {
      return { signatures: await this.#store.count(sha256), hasFailed: false };
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      const now = systemClock.monotonicMs();
      if (now - this.#toldAtMs >= freshMs) {
        this.#toldAtMs = now;
        this.#onFault(error);
      }
      return { signatures: last, hasFailed: true };
    }
  }
}
