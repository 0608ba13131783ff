import type { IdSource } from '@svc/protocol/ids.ts';

/** Time and randomness of a session; the only ones its code uses. */
export interface SessionClock extends IdSource {
  /** Milliseconds that only rise, for durations. */
  monotonicMs(): number;
  /** Calls back once after `ms`; the returned function takes the call back. */
  after(ms: number, callback: () => void): () => void;
}
