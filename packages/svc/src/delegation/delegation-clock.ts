import type { IdSource } from '@svc/protocol/ids.ts';

/** Time and randomness of delegations; the only ones their code uses. */
export interface DelegationClock extends IdSource {
  /** Milliseconds that only rise, for durations. */
  monotonicMs(): number;
  /** Calls back once after `ms`; the returned function takes the call back. */
  after(ms: number, callback: () => void): () => void;
}

type Timers = Pick<DelegationClock, 'after'>;

/** Resolves after `ms`; rejects with the signal's reason when that is aborted before. */
export async function pause(clock: Timers, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let onAbort = (): void => {};
  let takeBack = (): void => {};
  try {
    await new Promise<void>((resolve, reject) => {
      onAbort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', onAbort, { once: true });
      takeBack = clock.after(ms, resolve);
    });
  } finally {
    takeBack();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Settles with the work, or after `ms` without it. */
export async function atMost(clock: Timers, ms: number, work: Promise<unknown>): Promise<void> {
  let takeBack = (): void => {};
  const late = new Promise<void>((resolve) => {
    takeBack = clock.after(ms, resolve);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    takeBack();
  }
}
