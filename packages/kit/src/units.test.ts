import { expect, it } from 'vitest';

import { bytesOf, secondsOf, wholeMs } from './units.ts';

it.each([
  ['1Ki', 1024],
  ['512Mi', 536_870_912],
  ['0Ki', 0],
  ['1', null],
  ['1.5Mi', null],
  ['1MB', null],
] as const)('the size %s is %s bytes', (text, bytes) => {
  expect(bytesOf(text)).toBe(bytes);
});

it.each([
  ['1.5s', 1.5],
  ['2m', 120],
  ['1h', 3600],
  ['5', null],
  ['-5s', null],
  ['5 s', null],
] as const)('the duration %s is %s seconds', (text, secs) => {
  expect(secondsOf(text)).toBe(secs);
});

it('1.001 s are 1001 whole milliseconds', () => {
  expect(wholeMs(1.001)).toBe(1001);
});
