/** What code below the programs knows of time and chance, so that a test can decide both. */

import type { IdSource } from '@svc/protocol/ids.ts';

/** Time and randomness as an argument: code below the programs reads no other. What needs a part of it asks for that by `Pick`. */
export interface Clock extends IdSource {
  /** Milliseconds that only rise, whatever is done to the clock of the machine: for durations, and for what expires. */
  monotonicMs(): number;
  /** Calls back once after `ms`; the returned function takes the call back. */
  after(ms: number, callback: () => void): () => void;
}

/** A whole number from 0 to below `end`, which is at most 2^32. */
export function randomBelow(source: Pick<Clock, 'randomBytes'>, end: number): number {
  return Buffer.from(source.randomBytes(4)).readUInt32LE() % Math.floor(end);
}

/** Whole milliseconds since `startedMs` of `monotonicMs`. */
export function elapsedMs(clock: Pick<Clock, 'monotonicMs'>, startedMs: number): number {
  return Math.max(0, Math.round(clock.monotonicMs() - startedMs));
}

/** Resolves after `ms`; rejects with the signal's reason when that is aborted before. */
export async function pause(clock: Pick<Clock, 'after'>, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let onAbort = (): void => {};
  let cancelTimer = (): void => {};
  try {
    await new Promise<void>((resolve, reject) => {
      onAbort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', onAbort, { once: true });
      cancelTimer = clock.after(ms, resolve);
    });
  } finally {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Settles with the work, or after `ms` without it. */
export async function atMost(clock: Pick<Clock, 'after'>, ms: number, work: Promise<unknown>): Promise<void> {
  let cancelTimer = (): void => {};
  const late = new Promise<void>((resolve) => {
    cancelTimer = clock.after(ms, resolve);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    cancelTimer();
  }
}
