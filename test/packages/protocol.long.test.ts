import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { InstalledPackage } from '../support/installed-package.ts';

const readme = new URL('../../packages/protocol/README.md', import.meta.url);

describe('the package @svc/protocol, installed from its tarball', { timeout: 120_000 }, () => {
  let installed: InstalledPackage;
  beforeAll(async () => {
    installed = await InstalledPackage.install('protocol');
  });
  afterAll(() => installed.remove());

  it('passes publint and "are the types wrong"', async () => {
    expect(await installed.problems()).toBe('');
  });

  it('writes and reads frames as its README shows', async () => {
    const [, example = ''] = /```ts\n([^]*?)```/.exec(readFileSync(readme, 'utf8')) ?? [];
    expect(await installed.printedBy(example)).toBe('7: cups of tea\n');
  });
});
