import { describe, expect, it } from 'vitest';

import { parseLastEventId } from './event-id.ts';

describe('a Last-Event-ID header', () => {
  it.each([
    ['0', 0n],
    ['000', 0n],
    ['9223372036854775808', 9223372036854775808n],
    ['18446744073709551615', 18446744073709551615n],
    ['00000000000000000000000000018446744073709551615', 18446744073709551615n],
  ])('%s is a number', (header, id) => {
    expect(parseLastEventId(header)).toBe(id);
  });

  it.each(['', 'abc', '-1', '+1', '1e3', '1.0', '0x10', ' 1', '1 ', '1, 2', '18446744073709551616', '9'.repeat(100)])(
    '%j is none',
    (header) => {
      expect(parseLastEventId(header)).toBeUndefined();
    },
  );

  it('is none when absent', () => {
    expect(parseLastEventId(undefined)).toBeUndefined();
  });
});
