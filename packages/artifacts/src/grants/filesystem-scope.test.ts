import { describe, expect, it } from 'vitest';

import { intersection, isWithin } from './filesystem-scope.ts';

describe('a filesystem scope', () => {
  it.each([
    ['.', '.', true],
    ['.', 'out', true],
    ['out', '.', false],
    ['out', 'out', true],
    ['out', 'out/data', true],
    ['out', 'output', false],
    ['out/data', 'out', false],
  ])('%s holds %s: %s', (outer, inner, expected) => {
    expect(isWithin(outer, inner)).toBe(expected);
  });

  it.each([
    ['.', 'out', 'out'],
    ['out', '.', 'out'],
    ['out', 'out/data', 'out/data'],
    ['out', 'src', null],
    ['out', 'output', null],
  ])('%s and %s share %s', (one, other, expected) => {
    expect(intersection(one, other)).toBe(expected);
  });
});
