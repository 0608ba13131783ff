import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { normalizeWorkdirPath, intersection, isWithin } from './workdir-path.ts';

describe('a path below the workdir', () => {
  it.each([
    ['out', 'out'],
    ['./out//data/', 'out/data'],
    ['.', '.'],
    ['./', '.'],
    ['...', '...'],
    ['a..b/c', 'a..b/c'],
  ])('%j is %j', (path, normal) => {
    expect(normalizeWorkdirPath(path)).toBe(normal);
  });

  it.each(['', '/', '/etc', '..', '../x', 'a/..', 'a/../b', 'a/../../b', 'a\0b'])('cannot be %j', (path) => {
    expect(normalizeWorkdirPath(path)).toBeUndefined();
  });

  it('never leads out of the workdir', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', '.', '..', '/', '', 'b/c')), (parts) => {
        const normal = normalizeWorkdirPath(parts.join('/'));
        if (normal === undefined) return;
        expect(`${posix.resolve('/workdir', normal)}/`).toMatch(/^\/workdir\//);
        expect(normalizeWorkdirPath(normal)).toBe(normal);
      }),
    );
  });
});

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
