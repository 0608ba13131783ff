import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const named = '{ name: svc-tool-editor, version: 1.0.0 }';
const manifest = (entry: string): string => `name: demo
version: 1.0.0
artifacts:
  - ${entry}
inference:
  driver: { artifact: svc-driver-openai }
  model: \${MODEL_OF_NOBODY}
  endpoint: \${ENDPOINT_OF_NOBODY}
  api_key: \${KEY_OF_NOBODY}
`;

let workspace: Workspace;
beforeEach(() => {
  workspace = capsule({ files: taskFile });
  workspace.write('svc.yaml', manifest(named));
});

describe('a variable that is not set', () => {
  it.each([['list'], ['install'], ['build'], ['publish --registry local'], ['install -g .'], ['search editor']])(
    'does not keep svc %s from its work where that does not use it',
    async (command) => {
      const { code, stderr } = await svc(workspace, command.split(' '));
      expect({ code, refusals: stderr.match(/^error.*/gm) }).toEqual({ code: 0, refusals: null });
    },
  );

  it('leaves svc install nothing out', async () => {
    await svc(workspace, ['install']);
    const lock = readFileSync(join(workspace.folder, 'svc.lock'), 'utf8');
    expect(lock.match(/"name": "[^"]*"/g)).toEqual(['"name": "svc-driver-openai"', '"name": "svc-tool-editor"']);
  });

  it.each([['list'], ['install'], ['build']])(
    'appears in the error of svc %s where it names an artifact',
    async (command) => {
      workspace.write('svc.yaml', manifest('{ name: svc-tool-editor, version: "${VERSION_OF_NOBODY}" }'));
      const { code, stdout, stderr } = await svc(workspace, [command]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr.match(/^error.*/gm)).toEqual([
        'error[E-MAN-003]: artifacts[0].version refers to the variable VERSION_OF_NOBODY, which is not set',
      ]);
    },
  );

  it('appears in the error of svc list where the manifest cannot be understood without it', async () => {
    workspace.write('svc.yaml', `${manifest(named)}lifecycle: { task_acceptance: "\${WHEN_OF_NOBODY}" }\n`);
    expect((await svc(workspace, ['list'])).code).toBe(0);
    workspace.write(
      'svc.yaml',
      `${manifest(named)}lifecycle: "\${LIFE_OF_NOBODY}"\ncapabilities: { spawn: { allow: ["\${CHILD_OF_NOBODY}"] } }\n`,
    );
    const { code, stderr } = await svc(workspace, ['list']);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'error[E-MAN-003]: capabilities.spawn.allow[0] refers to the variable CHILD_OF_NOBODY, which is not set',
    );
  });

  it('refuses svc run, each one by name [D1-MAN-07, D1-ERR-09]', async () => {
    const { code, stdout, stderr } = await svc(workspace, ['run']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.match(/^error.*/gm)).toEqual(
      ['model', 'endpoint', 'api_key'].map(
        (key, index) =>
          `error[E-MAN-003]: inference.${key} refers to the variable ${['MODEL', 'ENDPOINT', 'KEY'][index]}_OF_NOBODY, which is not set`,
      ),
    );
  });
});
