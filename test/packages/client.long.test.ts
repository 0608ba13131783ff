import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { InstalledPackage } from '../support/installed-package.ts';
import { says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

describe('the package @svc/client, installed from its tarball', { timeout: 120_000 }, () => {
  let installed: InstalledPackage;
  beforeAll(async () => {
    installed = await InstalledPackage.install('client');
  });
  afterAll(() => installed.remove());

  it('passes publint and "are the types wrong"', async () => {
    expect(await installed.problems()).toBe('');
  });

  it('drives a capsule from TypeScript', async () => {
    const capsule = await capsules.script({ manifest: staysUp, script: script(says('Tea is ready.')) });
    const program = `
      import { CapsuleClient, ClientError, type TaskEvent } from '@svc/client';

      const capsule = new CapsuleClient({ url: process.argv[2] ?? '' });
      const events: TaskEvent[] = [];
      const run = capsule.run('Make tea.');
      let next = await run.next();
      for (; next.done !== true; next = await run.next()) events.push(next.value);
      console.log(next.value.state, next.value.response, events.length);
      try {
        await capsule.files();
      } catch (error) {
        console.log(error instanceof ClientError ? error.code : error);
      }
    `;
    expect(await installed.printedBy(program, [capsule.line.url])).toBe('completed Tea is ready. 3\nnot-served\n');
  });
});
