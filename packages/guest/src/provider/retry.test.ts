import { describe, expect, it } from 'vitest';

import { RequestFailure } from '../request-failure.ts';
import { retryAfter, withRetries } from './retry.ts';
import { runBlocking, type Steps, waitFor } from './steps.ts';

const busy = (retryAfterMs: number | null = null): RequestFailure =>
  new RequestFailure('provider answered 503', { transient: true, retryAfterMs });

interface Trial {
  readonly failures: readonly RequestFailure[];
  readonly maxRetries?: number;
  readonly mayRetry?: () => boolean;
}

function run({ failures, maxRetries = 3, mayRetry = () => true }: Trial): {
  readonly outcome: string;
  readonly slept: number[];
} {
  const slept: number[] = [];
  const left = [...failures];
  const attempt = (): Steps<string> =>
    waitFor(() => {
      const failure = left.shift();
      if (failure !== undefined) throw failure;
      return 'done';
    });
  try {
    return {
      outcome: runBlocking(
        withRetries(attempt, {
          maxRetries,
          mayRetry,
          wait: (ms) => waitFor(() => void slept.push(ms)),
          now: () => 0,
        }),
      ),
      slept,
    };
  } catch (error) {
    return { outcome: error instanceof RequestFailure ? error.message : 'a bug', slept };
  }
}

describe('retries', () => {
  it('wait longer each time', () => {
    expect(run({ failures: [busy(), busy(), busy()] })).toEqual({ outcome: 'done', slept: [500, 1000, 2000] });
  });

  it('stop at the bound and say how often was tried', () => {
    expect(run({ failures: [busy(), busy(), busy(), busy()] })).toEqual({
      outcome: 'provider answered 503 (after 4 attempts)',
      slept: [500, 1000, 2000],
    });
  });

  it('never wait longer than eight seconds of their own accord', () => {
    const failures = Array.from({ length: 7 }, () => busy());
    expect(run({ failures, maxRetries: 10 }).slept).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000]);
  });

  it('wait as long as the provider asks', () => {
    expect(run({ failures: [busy(60_000), busy(0)] })).toEqual({ outcome: 'done', slept: [60_000, 0] });
  });

  it('give up when the provider asks for more than a minute', () => {
    expect(run({ failures: [busy(60_001)] })).toEqual({
      outcome: 'provider answered 503 (it asks to wait 61 s)',
      slept: [],
    });
  });

  it('are not made for what would fail again', () => {
    const lasting = new RequestFailure('provider answered 401: invalid api key', { transient: false });
    expect(run({ failures: [lasting] })).toEqual({ outcome: 'provider answered 401: invalid api key', slept: [] });
  });

  it('are not made once something was shown', () => {
    expect(run({ failures: [busy()], mayRetry: () => false })).toEqual({ outcome: 'provider answered 503', slept: [] });
  });

  it('can be switched off', () => {
    expect(run({ failures: [busy()], maxRetries: 0 })).toEqual({ outcome: 'provider answered 503', slept: [] });
  });
});

describe('the pause a provider asks for', () => {
  const now = Date.UTC(2026, 0, 1, 12, 0, 0);
  const asked = (headers: Readonly<Record<string, string>>): number | null =>
    retryAfter((name) => headers[name] ?? null, now);

  it('is read from seconds, milliseconds and dates', () => {
    expect(asked({ 'retry-after': '7' })).toBe(7000);
    expect(asked({ 'retry-after': '0.5' })).toBe(500);
    expect(asked({ 'retry-after-ms': '120', 'retry-after': '7' })).toBe(120);
    expect(asked({ 'retry-after': 'Thu, 01 Jan 2026 12:00:30 GMT' })).toBe(30_000);
  });

  it('is nothing for a date that is past', () => {
    expect(asked({ 'retry-after': 'Thu, 01 Jan 2026 11:00:00 GMT' })).toBe(0);
  });

  it('is absent when the header is absent or unreadable', () => {
    expect(asked({})).toBeNull();
    expect(asked({ 'retry-after': 'soon' })).toBeNull();
  });
});
