import { describe, expect, it } from 'vitest';

import { asJsonObject, holdsFewItems, isCount, isPair, parseJsonObject, wholeOrNull } from './json-object.ts';

it('the text of an object is that object', () => {
  expect(parseJsonObject('{"a":[1]}')).toEqual({ a: [1] });
  expect(parseJsonObject('{}')).toEqual({});
});

it.each(['[]', 'null', '1', '"{}"', '', '{', '{}{}'])('the text %j is no object', (text) => {
  expect(parseJsonObject(text)).toBeNull();
});

it('a list is no object', () => {
  expect(asJsonObject([])).toBeNull();
  expect(asJsonObject(null)).toBeNull();
  expect(asJsonObject({ a: 1 })).toEqual({ a: 1 });
});

const most = Array.from({ length: 16_384 }, () => 0);

describe('lists in a value', () => {
  it.each([0, 'text', null, undefined, [], {}, new Uint8Array(100_000), { a: { b: most } }])(
    'may hold 16,384 items together: value %#',
    (value) => {
      expect(holdsFewItems(value)).toBe(true);
    },
  );

  it.each([
    [[...most, 0]],
    [{ a: { b: [...most, 0] } }],
    [{ a: most, b: [0] }],
    [Array.from({ length: 129 }, () => Array.from({ length: 127 }, () => 0))],
  ])('may hold no more: value %#', (value) => {
    expect(holdsFewItems(value)).toBe(false);
  });
});

it('a whole number is one that keeps every digit', () => {
  expect([0, -5, 2 ** 53 - 1, 2 ** 53, 1.5, '1', null, Number.NaN].map(wholeOrNull)).toEqual([
    0,
    -5,
    9_007_199_254_740_991,
    null,
    null,
    null,
    null,
    null,
  ]);
});

it('a count is a whole number from 0 on', () => {
  expect([0, 7, -1, 2 ** 53, 0.5, '7', null].map(isCount)).toEqual([true, true, false, false, false, false, false]);
});

it('a pair is a list of two strings', () => {
  expect([['a', 'b'], ['a'], ['a', 'b', 'c'], ['a', 1], 'ab', null].map(isPair)).toEqual([
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});
