import type { SessionClock } from '@svc/kit/clock.ts';

/** Whole milliseconds since then. */
export function elapsedMs(clock: SessionClock, startedMs: number): number {
  return Math.max(0, Math.round(clock.monotonicMs() - startedMs));
}
