import { mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { isBeneath, realPath } from './resolve-beneath.ts';

it('a path is real with its links followed, and itself where they lead nowhere', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-real-')));
  try {
    const [link, nowhere] = [join(folder, 'link'), join(folder, 'nowhere')];
    symlinkSync('.', link);
    symlinkSync('missing', nowhere);
    expect([link, nowhere, join(folder, 'missing')].map(realPath)).toEqual([folder, nowhere, join(folder, 'missing')]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

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
  ])('resolves %s as %s', (base, path) => {
    expect(isBeneath(base, path)).toBe(true);
  });

  it.each([
    ['/work', '/workshop'],
    ['/work', '/'],
    ['/work', '/work/../etc'],
    ['/work/a', '/work'],
  ])('does not resolve %s as %s', (base, path) => {
    expect(isBeneath(base, path)).toBe(false);
  });
});
