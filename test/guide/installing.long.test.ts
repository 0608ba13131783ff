import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, describe, expect, it } from 'vitest';

import { whyMissing } from '../support/debian-program.ts';
import { type Listing, sectionsOf, shownAs } from './listings.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const [page = ''] = readFileSync(join(checkout, 'docs/installing.md'), 'utf8').split('\n# Where artifacts come from');
/** What somebody types first whose Node belongs to root. */
const [, ownFolder = ''] = /^\$ (export NPM_CONFIG_PREFIX=.*)$/m.exec(page) ?? [];
const sections = sectionsOf(page.replaceAll(/^```console\n[^]*?^```$/gm, ''));

/** Somebody with a checkout and an empty home, to which npm installs. */
describe('docs/installing.md, in a checkout', { timeout: 240_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-installing-'));
  const prefix = join(home, '.local');
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  function type({ text }: Extract<Listing, { kind: 'commands' }>): {
    readonly code: number | null;
    readonly output: string;
  } {
    const { status, stdout } = spawnSync('bash', ['-c', `exec 2>&1\nset -e\n${ownFolder}\n${text}`], {
      cwd: checkout,
      env: {
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
        HOME: home,
        NPM_CONFIG_OFFLINE: 'true',
        NPM_CONFIG_UPDATE_NOTIFIER: 'false',
      },
      encoding: 'utf8',
    });
    return { code: status, output: stdout };
  }

  it('has listings in each of these sections', () => {
    expect(sections.map(({ title }) => title)).toEqual([
      'As a package',
      'As a Debian package',
      'To upgrade, and to remove it',
    ]);
  });

  // In the order of the page: what one section leaves behind, the next one uses.
  it.for(sections)('$title', ({ title, listings }, context) => {
    const missing = title === 'As a Debian package' ? whyMissing('dpkg-deb', 'dpkg') : null;
    context.skip(missing !== null, missing ?? '');
    for (const listing of listings) {
      if (listing.kind !== 'commands') throw new Error('the page has a listing that is not typed');
      const { code, output } = type(listing);
      expect(code, output).toBe(0);
      expect(output.trim()).toMatch(new RegExp(`^${shownAs(listing.output ?? '').source}$`));
    }
  });

  it('leaves nothing of the program behind', () => {
    expect(readdirSync(join(prefix, 'bin'))).toEqual([]);
    expect(existsSync(join(prefix, 'lib/node_modules/svc'))).toBe(false);
  });
});
