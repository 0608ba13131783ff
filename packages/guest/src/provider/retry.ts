/** Tries a request again after failures that may pass. */

import { RequestFailure } from '../request-failure.ts';
import type { Steps } from './steps.ts';

const firstDelayMs = 500;
const maxDelayMs = 8_000;
/** A provider that asks for a longer pause than this is not waited for. */
export const maxRetryAfterMs = 60_000;

export interface RetryPolicy {
  readonly maxRetries: number;
  /** False as soon as something of the reply has been shown: a second attempt would show it twice. */
  readonly mayRetry: () => boolean;
  /** Waits before the `attempt`-th repetition, from 1. */
  readonly wait: (milliseconds: number, attempt: number) => Steps<void>;
  readonly now: () => number;
}

/** What `attempt` returns, tried again after transient failures with growing pauses or those the provider asks for. */
export function* withRetries<T>(attempt: () => Steps<T>, policy: RetryPolicy): Steps<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return yield* attempt();
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error;
      const again = error.transient && failures < policy.maxRetries && policy.mayRetry();
      if (!again) throw failures === 0 ? error : tried(error, failures + 1);
      if ((error.retryAfterMs ?? 0) > maxRetryAfterMs) throw tooLong(error);
      yield* policy.wait(error.retryAfterMs ?? backOff(failures, policy.now()), failures + 1);
    }
  }
}

/** The pause a response asks for with `retry-after-ms` or `retry-after` (seconds or a date); null when it asks for none. */
export function retryAfter(header: (name: string) => string | null, now: number): number | null {
  const milliseconds = header('retry-after-ms')?.trim() ?? '';
  if (/^\d{1,12}(\.\d+)?$/.test(milliseconds)) return Math.ceil(Number(milliseconds));
  const seconds = header('retry-after')?.trim() ?? '';
  if (/^\d{1,9}(\.\d+)?$/.test(seconds)) return Math.ceil(Number(seconds) * 1000);
  const date = Date.parse(seconds);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

function backOff(failures: number, now: number): number {
  // The clock's milliseconds spread capsules that were refused together; a guest's random numbers repeat with its snapshot.
  return Math.min(firstDelayMs * 2 ** failures, maxDelayMs) + (now % 250);
}

function tried(failure: RequestFailure, attempts: number): RequestFailure {
  const { status } = failure;
  return new RequestFailure(`${failure.message} (after ${attempts} attempts)`, { transient: false, status });
}

function tooLong(failure: RequestFailure): RequestFailure {
  const seconds = Math.ceil((failure.retryAfterMs ?? 0) / 1000);
  return new RequestFailure(`${failure.message} (it asks to wait ${seconds} s)`, { transient: false });
}
