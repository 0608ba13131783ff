import fc from 'fast-check';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';

import { normalizeWorkdirPath } from './workdir-path.ts';

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

  it.each(['', '/', '/etc', '..', '../x', 'a/..', 'a/../b', 'a/../../b', 'a\0b'])('is not %j', (path) => {
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
