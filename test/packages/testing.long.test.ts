import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { InstalledPackage } from '../support/installed-package.ts';

const readme = readFileSync(new URL('../../packages/testing/README.md', import.meta.url), 'utf8');
const svc = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

describe('the package @svc/testing, installed from its tarball', { timeout: 120_000 }, () => {
  let installed: InstalledPackage;
  beforeAll(async () => {
    installed = await InstalledPackage.install('testing');
  });
  afterAll(() => installed.remove());

  it('passes publint and "are the types wrong"', async () => {
    expect(await installed.problems()).toBe('');
  });

  it('tests a capsule without a model as its README shows', async () => {
    const [, manifest = ''] = /```yaml\n([^]*?)```/.exec(readme) ?? [];
    const [, program = ''] = /```ts\n([^]*?)```/.exec(readme) ?? [];
    installed.write('svc.yaml', manifest);
    const bin = join(installed.folder, 'bin');
    mkdirSync(bin);
    symlinkSync(svc, join(bin, 'svc'));
    const env = { HOME: installed.folder, PATH: `${bin}:${process.env['PATH']}` };
    expect(await installed.printedBy(program, [], env)).toBe('The kettle is on.\n[ true ]\n');
  });
});
