import { expect, it } from 'vitest';

import { valueSize, ValueTooLarge } from './value-size.ts';

it('valueSize counts texts, bytes and what holds them', () => {
  expect(valueSize({ text: 'abc', bytes: new Uint8Array(100), list: [1, 2n, null] })).toBe(48 * 7 + 6 + 256 + 100);
});

it.each([
  ['a text', 'x'.repeat(33 * 1024 * 1024)],
  ['bytes', new Uint8Array(65 * 1024 * 1024)],
  ['many small values', Array.from({ length: 5_000_000 }, () => 0)],
])('valueSize refuses %s past the limit', (_, value) => {
  expect(() => valueSize(value)).toThrow(ValueTooLarge);
});

it('valueSize measures a value nested as deep as the limit allows', () => {
  let value: unknown = 0;
  for (let at = 0; at < 1_000_000; at += 1) value = [value];
  expect(valueSize(value)).toBe(48 * 1_000_001);
});
