import type { IdSource } from '../wire/ids.ts';

/** Time and randomness of delegations; the only ones their code uses. */
export interface DelegationClock extends IdSource {
  /** Milliseconds that only rise, for durations. */
  monotonicMs(): number;
  /** Calls back once after `ms`; the returned function takes the call back. */
  after(ms: number, callback: () => void): () => void;
}
