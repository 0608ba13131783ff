import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readArchive } from '@svc/artifacts/store/archive.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const examples = fileURLToPath(new URL('../../examples', import.meta.url));
const names = ['anthropic', 'hello', 'ollama', 'openai'];

/** Recorded by `node scripts/record-example-tests.mjs`, which does so anew when what their sessions ask has changed, and that is meant. */
describe('the recorded test', () => {
  let workspace: Workspace;
  beforeAll(() => {
    workspace = makeWorkspace({});
  });
  afterAll(() => workspace.remove());

  it.each(names)('passes in examples/%s', async (name) => {
    const ended = await svc(workspace, ['test', '--manifest', join(examples, name, 'svc.yaml')], { cwd: '/' });
    expect(ended).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/\n1 test: 1 passed\n$/) });
  });

  it.each(names)('names in examples/%s no folder of the machine that it was recorded on, and no key', async (name) => {
    const tests = join(examples, name, 'tests');
    const [test = ''] = readdirSync(tests);
    const file = await RegularFile.open(join(tests, test, 'session.zip'));
    try {
      const journal = (await (await readArchive(file)).read('journal.jsonl')).toString('utf8');
      expect(journal).toContain('"k":"close"');
      expect(journal.match(/(?<![\w.:/])\/(?:home|root|tmp|work|mnt|Users|var|private)\/.{0,40}/g)).toBeNull();
      expect(journal.match(/authorization|x-api-key|bearer/i)).toBeNull();
    } finally {
      await file.close();
    }
  });
});
