import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { runs, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const manifest = `name: watched
version: 1.0.0
artifacts: [{ name: svc-hook-debug, version: 1.0.0, runtime: hook }]
inference:
  model: scripted
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
trace: { capture: content }
capabilities: { shell: { allow: [sh] } }
`;

describe('two runs of a capsule with a hook, which gets ids', () => {
  let workspace: Workspace;

  beforeAll(async () => {
    workspace = makeWorkspace({ 'svc.yaml': manifest });
    for (const [name, answer] of [
      ['one', 'Fine.'],
      ['two', 'Fine.'],
      ['other', 'Bad.'],
    ] as const) {
      writeFileSync(join(workspace.folder, 'script.yaml'), script(runs('echo fine'), says(answer)));
      await done(['run', '--task', 'Go.']);
      await done(['trace', 'export', '-o', `${name}.zip`]);
    }
  }, 120_000);

  afterAll(() => workspace.remove());

  async function done(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await svc(workspace, args);
    if (code !== 0) throw new Error(`svc ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  it('match when they differ in ids alone', async () => {
    expect(await done(['trace', 'diff', './one.zip', './two.zip'])).toBe('the same except for ids and times\n');
  });

  it('differ where the hook gets something else than an id', async () => {
    const { parting } = JSON.parse(await done(['trace', 'diff', './one.zip', './other.zip', '--json']));
    expect(parting).toMatchObject({
      kind: 'input',
      port: 'hook',
      name: 'svc-hook-debug',
      part: 'input',
      difference: { path: '/argument/content/0/val', a: 'Fine.', b: 'Bad.' },
    });
  });
});
