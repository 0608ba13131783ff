import { describe, expect, it } from 'vitest';

import { isBeneath } from './resolve-beneath.ts';

describe('a path is beneath another', () => {
  it.each([
    ['/work', '/work'],
    ['/work', '/work/'],
    ['/work', '/work/a/b'],
    ['/work', '/work/..a'],
    ['/work', '/usr/../work/bin'],
    ['/work', '//work/./bin'],
    ['/work/', '/work/bin'],
    ['/', '/work'],
  ])('of %s as %s', (base, path) => {
    expect(isBeneath(base, path)).toBe(true);
  });

  it.each([
    ['/work', '/workshop'],
    ['/work', '/'],
    ['/work', '/work/../etc'],
    ['/work/a', '/work'],
  ])('of %s not as %s', (base, path) => {
    expect(isBeneath(base, path)).toBe(false);
  });
});
