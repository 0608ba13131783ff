import { describe, expect, it } from 'vitest';

import {
  isAnything,
  isFlag,
  isListOf,
  isMapOf,
  isObjectOf,
  isOneOf,
  isText,
  isVariantOf,
  isWhole,
  orNothing,
  orNull,
} from './guards.ts';

describe('a guard', () => {
  it.each([
    ['a text', isText, ['', 'a'], [1, null, undefined, ['a']]],
    ['a flag', isFlag, [true, false], [0, 'true', null, undefined]],
    ['a whole number', isWhole, [0, -1, Number.MAX_SAFE_INTEGER], [0.5, Number.NaN, 2 ** 53, 1n, '1', null]],
    ['one of several', isOneOf('a', 'b'), ['a', 'b'], ['c', ['a'], null, undefined]],
    ['a list', isListOf(isText), [[], ['a']], [['a', 1], { 0: 'a', length: 1 }, 'a', null]],
    ['a map', isMapOf(isText), [{}, { a: 'b' }], [{ a: 1 }, ['a'], null]],
    ['a value or null', orNull(isText), ['a', null], [undefined, 1]],
    ['a value or nothing', orNothing(isText), ['a', null, undefined], [1]],
    ['anything', isAnything, [undefined, null, {}], []],
  ])('lets %s pass and nothing else', (_, guard: (value: unknown) => boolean, good, bad) => {
    for (const value of good) expect(guard(value)).toBe(true);
    for (const value of bad) expect(guard(value)).toBe(false);
  });

  it('holds each field of an object to its own guard, and one that is absent too', () => {
    const isPoint = isObjectOf({ x: isWhole, label: orNothing(isText) });
    expect(isPoint({ x: 1 })).toBe(true);
    expect(isPoint({ x: 1, label: 'a', other: {} })).toBe(true);
    expect(isPoint({ label: 'a' })).toBe(false);
    expect(isPoint({ x: 1, label: 2 })).toBe(false);
    expect(isPoint([1])).toBe(false);
    expect(isPoint(null)).toBe(false);
  });

  it('takes the tags of a variant that it knows, each with its own value', () => {
    const isEnd = isVariantOf({ done: isAnything, error: isText });
    expect(isEnd({ tag: 'done' })).toBe(true);
    expect(isEnd({ tag: 'error', val: 'why' })).toBe(true);
    expect(isEnd({ tag: 'error' })).toBe(false);
    expect(isEnd({ tag: 'constructor', val: 'why' })).toBe(false);
    expect(isEnd({ tag: 'toString' })).toBe(false);
    expect(isEnd({ val: 'why' })).toBe(false);
    expect(isEnd('done')).toBe(false);
  });
});
