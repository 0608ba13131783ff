import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { beforeEach, describe, expect, it } from 'vitest';

import { ArchivedFiles } from '@svc/artifacts/store/open-stored.ts';
import { bundledRoot, readVariant } from '@svc/artifacts/store/store-layout.ts';
import { archiveBytes } from '../../packages/artifacts/test/store/artifacts.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const manifest = 'artifacts:\n  - { name: svc-tool-editor, version: 0.9.0 } # the one of then\n';
const root = bundledRoot(fileURLToPath(new URL('../..', import.meta.url)));
const archive = 'svc-tool-editor-0.9.0.zip';

let workspace: Workspace;
beforeEach(async () => {
  workspace = capsule({ manifest, files: taskFile });
  // A release of svc that brought 0.9.0: its archive, as its page has it, and the lock that it wrote.
  writeFileSync(join(workspace.folder, archive), await earlierEditor());
  await run('install', `./${archive}`);
  await run('install');
  rmSync(join(workspace.folder, '.svc'), { recursive: true });
});

async function earlierEditor(): Promise<Buffer> {
  const stored = readVariant(root, { name: 'svc-tool-editor', version: '1.0.0' }, null);
  if (stored === null) throw new Error('the editor is not built');
  const files = new ArchivedFiles(stored.path, stored.sha256, null);
  const text = (await files.read('svc.yaml')).toString('utf8').replace('version: 1.0.0', 'version: 0.9.0');
  return await archiveBytes([
    { name: 'svc.yaml', data: Buffer.from(text) },
    { name: 'component.wasm', data: await files.read('component.wasm') },
  ]);
}

async function run(...args: string[]): Promise<SvcEnd> {
  return await svc(workspace, args, { env: {} });
}

const text = (name: string): string => readFileSync(join(workspace.folder, name), 'utf8');
const locked = (): string[] =>
  (JSON.parse(text('svc.lock')) as { artifacts: { name: string; version: string }[] }).artifacts.map(
    ({ name, version }) => `${name}@${version}`,
  );

describe('a project of an earlier svc', () => {
  it('gets advice about an artifact that this svc brings in another version', async () => {
    expect(locked()).toEqual(['svc-driver-script@1.0.0', 'svc-tool-editor@0.9.0']);
    for (const args of [['run'], ['install'], ['install', '--frozen']]) {
      const { code, stderr } = await run(...args);
      expect([code, stderr], args.join(' ')).toEqual([
        1,
        expect.stringMatching(/^error\[E-REG-001\]: svc-tool-editor@0\.9\.0 for \S+ is not in the bundled artifacts/),
      ]);
      expect(stderr).toContain(
        'hint: this svc brings svc-tool-editor in version 1.0.0: svc update svc-tool-editor moves svc.yaml and svc.lock to it; ' +
          `to stay, download ${archive} from the release of svc that had it, and run svc install ./${archive}\n`,
      );
    }
  });

  it('moves by svc update, without a registry', async () => {
    const outdated = await run('outdated', '--registry', 'local', '--json');
    expect(JSON.parse(outdated.stdout)).toMatchObject({ name: 'svc-tool-editor', current: '0.9.0', wanted: '1.0.0' });
    for (const args of [['svc-tool-editor', '--dry-run'], ['--dry-run']]) {
      const planned = await run('update', ...args);
      expect([planned.code, planned.stderr]).toEqual([0, '']);
      expect(planned.stdout).toContain('\n-   - { name: svc-tool-editor, version: 0.9.0 } # the one of then\n');
    }
    const moved = await run('update', 'svc-tool-editor');
    expect([moved.code, moved.stderr]).toEqual([0, '']);
    expect(moved.stdout).toMatch(/\nsvc-tool-editor +0\.9\.0 +1\.0\.0 /);
    expect(text('svc.yaml')).toContain('- { name: svc-tool-editor, version: 1.0.0 } # the one of then\n');
    expect(locked()).toEqual(['svc-driver-script@1.0.0', 'svc-tool-editor@1.0.0']);
    expect(await run('run')).toMatchObject({ code: 0, stderr: '' });
    expect((await run('update', 'svc-tool-editor')).stderr).toContain(
      'svc-tool-editor stays at 1.0.0: it comes with svc',
    );
  });

  it('moves back where svc was', async () => {
    workspace.write('svc.yaml', text('svc.yaml').replace('version: 0.9.0', 'version: 7.0.0'));
    expect((await run('update', 'svc-tool-editor')).code).toBe(0);
    expect(text('svc.yaml')).toContain('- { name: svc-tool-editor, version: 1.0.0 } # the one of then\n');
  });

  it('keeps to its range, unless the latest is asked for', async () => {
    workspace.write('svc.yaml', text('svc.yaml').replace('version: 0.9.0', 'version: 0.9.0, range: ^0.9.0'));
    const before = text('svc.yaml');
    const refused = await run('update', 'svc-tool-editor');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('E-REG-028]: this svc has no version of svc-tool-editor to choose for ^0.9.0'),
    ]);
    expect(text('svc.yaml')).toBe(before);
    expect((await run('update', 'svc-tool-editor', '--latest')).code).toBe(0);
    expect(text('svc.yaml')).toContain('{ name: svc-tool-editor, version: 1.0.0, range: ^1.0.0 }');
  });

  it('stays with the archive of the earlier release', async () => {
    const lock = text('svc.lock');
    expect((await run('install', `./${archive}`)).code).toBe(0);
    expect(await run('run')).toMatchObject({ code: 0, stderr: '' });
    expect([text('svc.lock'), await run('install', '--frozen')]).toMatchObject([lock, { code: 0 }]);
    // What is in a store was put there on purpose.
    expect((await run('update', '--registry', 'local')).stderr).toContain('error[E-REG-006]');
  });

  it('gets advice about a driver that svc.yaml does not list', async () => {
    await run('update', 'svc-tool-editor');
    workspace.write('svc.lock', text('svc.lock').replace('"version": "1.0.0"', '"version": "0.9.0"'));
    expect(locked()).toEqual(['svc-driver-script@0.9.0', 'svc-tool-editor@1.0.0']);
    const { code, stderr } = await run('run');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error\[E-RUN-003\]: artifact svc-driver-script@1\.0\.0 has sha256 /);
    expect(stderr).toContain(
      'hint: run svc install to bring svc.lock up to date with the manifest: svc-driver-script@1.0.0 comes with this svc, as svc-driver-script@0.9.0 came with the one before\n',
    );
    expect((await run('install')).code).toBe(0);
    expect(locked()).toEqual(['svc-driver-script@1.0.0', 'svc-tool-editor@1.0.0']);
    expect(await run('run')).toMatchObject({ code: 0, stderr: '' });
  });
});
