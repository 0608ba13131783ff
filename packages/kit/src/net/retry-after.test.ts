import { describe, expect, it } from 'vitest';

import { retryAfterMs } from './retry-after.ts';

const date = 'Mon, 30 Nov 2026 06:00:00 GMT';

describe('retryAfterMs', () => {
  it.each([
    ['0', 0],
    ['31', 31_000],
    ['Mon, 30 Nov 2026 06:00:02 GMT', 2000],
    ['Mon, 30 Nov 2026 05:59:59 GMT', null],
    ['-1', null],
    ['1e3', null],
    ['soon', null],
    ['', null],
  ])('reads %j', (after, waitMs) => {
    expect(retryAfterMs({ 'retry-after': after, date })).toBe(waitMs);
  });

  it('compares a date with nothing but the date of the same answer', () => {
    expect(retryAfterMs({ 'retry-after': date })).toBeNull();
    expect(retryAfterMs({ date })).toBeNull();
  });
});
