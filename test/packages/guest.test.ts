import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { InstalledPackage } from '../support/installed-package.ts';

describe('the package @svc/guest, installed from its tarball', { timeout: 120_000 }, () => {
  let installed: InstalledPackage;
  beforeAll(async () => {
    installed = await InstalledPackage.install('guest');
  });
  afterAll(() => installed.remove());

  it('is packed as publint and "are the types wrong" want it', async () => {
    expect(await installed.problems()).toBe('');
  });

  it('is used from TypeScript', async () => {
    const program = `
      import { passed, type ToolOutput } from '@svc/guest/tool';
      import { countIn, isObject, parseJson } from '@svc/guest/untrusted-json';
      import { serverSentEvents } from '@svc/guest/event-source';

      const value = parseJson('{ "cups": 2 }');
      const output: ToolOutput = passed(\`\${isObject(value) ? countIn(value, 'cups') : null} cups\`);
      const events = [...serverSentEvents(['data: of t', 'ea\\n\\n'])];
      console.log(output.content, events.map(({ data }) => data).join());
    `;
    expect(await installed.printedBy(program)).toBe('2 cups of tea\n');
  });
});
