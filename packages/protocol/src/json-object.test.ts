import { expect, it } from 'vitest';

import { asJsonObject, parseJsonObject } from './json-object.ts';

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
