import { describe, expect, it } from 'vitest';

import { parseLastEventId } from './event-id.ts';

describe('a Last-Event-ID header', () => {
  it.each([
    ['0', 0n],
    ['000', 0n],
    ['9223372036854775808', 9223372036854775808n],
    ['18446744073709551615', 18446744073709551615n],
    ['00000000000000000000000000018446744073709551615', 18446744073709551615n],
    ['0016', 16n],
    ['9007199254740993', 9007199254740993n],
  ])('%s is a number', (header, id) => {
    expect(parseLastEventId(header)).toBe(id);
  });

  it.each([
    '',
    'abc',
    '-1',
    '+1',
    '1e3',
    '1.0',
    '0x10',
    ' 1',
    '1 ',
    '1, 2',
    '1_0',
    '1n',
    '\u0661',
    '\uff11',
    '\u00b9',
    '1\n',
    '18446744073709551616',
    '99999999999999999999',
    '9'.repeat(100),
  ])('%j is none', (header) => {
    expect(parseLastEventId(header)).toBeUndefined();
  });

  it('is read whatever its length', () => {
    expect(parseLastEventId(`${'0'.repeat(1_000_000)}7`)).toBe(7n);
    expect(parseLastEventId(`${'0'.repeat(1_000_000)}x`)).toBeUndefined();
    expect(parseLastEventId('9'.repeat(1_000_000))).toBeUndefined();
  });

  it('is none when absent', () => {
    expect(parseLastEventId(undefined)).toBeUndefined();
  });
});
