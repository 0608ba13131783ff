import { describe, expect, it } from 'vitest';

import { asJsonObject, holdsFewItems, parseJsonObject } from './json-object.ts';

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
