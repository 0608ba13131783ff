import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const withoutArtifacts = 'name: demo\nversion: 1.0.0\ninference: { transport: process, command: [cat] }\n';
const bundled = readdirSync(join(import.meta.dirname, '..', '..', 'artifacts')).filter((name) =>
  name.startsWith('svc-'),
).length;

let workspace: Workspace;
beforeEach(async () => {
  workspace = capsule({
    files: { 'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\n', 'style/skill.md': 'Be kind.\n' },
  });
  for (const where of ['-g', '--json']) {
    await svc(workspace, ['install', where, './style']);
  }
});

describe('svc list', () => {
  it('says what is elsewhere when the manifest names no artifact', async () => {
    workspace.write('svc.yaml', withoutArtifacts);
    expect(await svc(workspace, ['list'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `the manifest needs no artifact; ${bundled} bundled, 1 in the project's store, 1 in the user's store: svc list --all lists them\n`,
    });
    workspace.write('other/my svc.yaml', withoutArtifacts);
    const other = await svc(workspace, ['list', '--manifest', 'other/my svc.yaml']);
    expect(other.stderr).toBe(
      `the manifest needs no artifact; ${bundled} bundled, 1 in the user's store: svc list --all --manifest 'other/my svc.yaml' lists them\n`,
    );
  });

  it('says what is elsewhere when there is no manifest', async () => {
    rmSync(join(workspace.folder, 'svc.yaml'));
    const { code, stdout, stderr } = await svc(workspace, ['list']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-IO-001\]: cannot read .*svc\.yaml: no such file\nhint: go to the folder/);
    expect(stderr).toContain(
      `${bundled} bundled, 1 in the project's store, 1 in the user's store: svc list --all lists`,
    );
    expect((await svc(workspace, ['list', '--json'])).stdout).toBe('');
  });
});
