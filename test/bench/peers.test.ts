import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { broughtPeer, leftOut, peers } from '../../bench/support/peer-programs.mjs';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('the peers of the benchmark', () => {
  it('have the versions that bench/package.json pins', () => {
    const { dependencies } = JSON.parse(read('bench/package.json')) as { dependencies: Record<string, string> };
    const pinned = peers.filter(({ name }) => name in dependencies);
    expect(pinned.map(({ name, version }) => [name, version])).toEqual(
      pinned.map(({ name }) => [name, dependencies[name]]),
    );
    expect(pinned).toHaveLength(3);
  });

  it('stand in docs/performance.md with their versions and rows, and so do those that no row brings', () => {
    const page = read('docs/performance.md');
    const lines = [...page.matchAll(/^\| \[[^\]]+\]\S+ \| (\S+) \| ([^|]*) \|/gm)];
    for (const { version, rows } of peers)
      expect(lines.filter(([, pinned, named]) => pinned === version && named?.includes(`\`${rows[0]}\``))).toHaveLength(
        1,
      );
    for (const { name } of leftOut) expect(page).toContain(`**${name}**`);
  });

  it('say why one is not there, and where it has another version', async () => {
    const peer = { name: 'one', version: '1.2.3', rows: [] };
    const absent = { ...peer, bring: async () => await Promise.reject(new Error('one is not installed')) };
    expect(await broughtPeer(absent)).toEqual({ isThere: false, said: 'one is not installed' });
    expect(await broughtPeer({ ...peer, bring: async () => 'one 1.2.3' })).toEqual({ isThere: true, said: '1.2.3' });
    expect(await broughtPeer({ ...peer, bring: async () => 'one 1.3.0 (x)' })).toEqual({
      isThere: true,
      said: '1.3.0, and the rows were written with 1.2.3',
    });
  });
});
