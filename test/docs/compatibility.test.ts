import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { chosenRows, pageFile, pinnedVersion, records, renderPage, rows } from '../../scripts/compatibility.mjs';

const root = join(import.meta.dirname, '../..');
const held = records();

/** Where the page differs, `node scripts/compatibility.mjs <name>` tries again and writes it. */
describe('docs/compatibility.md', () => {
  it('has what was recorded when the tests ran', async () => {
    await expect(renderPage(held)).toMatchFileSnapshot(pageFile);
  });

  const pinned = rows().filter((row) => row.name in held && row.pinned !== undefined);
  it.each(pinned)('has the version that is tested now of $name', (row) => {
    expect(held[row.name]?.version).toBe(pinnedVersion(row));
  });

  it.each(rows().map((row) => [row.name, row.tests ?? []] as const))(
    'names tests that are there for %s',
    (_, tests) => {
      expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    },
  );

  it('has a row for each part of a name that is to be tried', () => {
    expect(chosenRows(['ORAS']).map(({ name }) => name)).toEqual(['ORAS']);
    expect(chosenRows([])).toHaveLength(rows().length);
    expect(() => chosenRows(['ORAS', 'no such'])).toThrow('nothing in test/compatibility.yaml has no such in its name');
  });

  it('has one name for each row', () => {
    const names = rows().map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
