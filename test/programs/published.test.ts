import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

const args = ['run', '--capsule', 'demo', '--capsule-version', '1.2.3'];

/** A workspace whose home has demo@1.2.3 in its store. */
async function withDemo(): Promise<{ readonly workspace: Workspace; readonly sha256: string }> {
  const workspace = capsule({ files: taskFile });
  const packed = await svc(workspace, ['build', '.']);
  expect(packed.code).toBe(0);
  const elsewhere = capsule();
  const archive = join(workspace.folder, 'demo-1.2.3.zip');
  const bytes = readFileSync(archive);
  const store = join(elsewhere.home, '.svc', 'artifacts', 'demo', '1.2.3');
  mkdirSync(store, { recursive: true });
  writeFileSync(join(store, 'demo-1.2.3.zip'), bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(join(store, 'demo-1.2.3.zip.sha256'), `${sha256}  demo-1.2.3.zip\n`);
  rmSync(join(elsewhere.folder, 'svc.yaml'));
  return { workspace: elsewhere, sha256 };
}

describe('a published capsule', () => {
  it('does not run from a directory that the folder brings in its name, until that is away', async () => {
    const { workspace, sha256 } = await withDemo();
    const brought = join(workspace.folder, '.svc', 'capsules', `demo-1.2.3-${sha256.slice(0, 16)}`);
    mkdirSync(brought, { recursive: true });
    writeFileSync(join(brought, 'svc.yaml'), 'name: demo\nversion: 1.2.3\n');
    const { code, stdout, stderr } = await svc(workspace, args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      `error[E-ART-017]: ${brought} is not what ${join(workspace.home, '.svc/artifacts/demo/1.2.3/demo-1.2.3.zip')} unpacks to: "svc.yaml" has other bytes\n` +
        'hint: find out who wrote there; then move this directory away and run the command again, which unpacks it anew\n',
    );
    renameSync(brought, join(workspace.folder, 'away'));
    expect((await svc(workspace, args)).code).toBe(0);
    writeFileSync(join(brought, 'prompt.md'), 'Evil.');
    expect((await svc(workspace, args)).stderr).toContain('error[E-ART-017]');
  });

  it('runs from the store, with its workdir below the current directory', async () => {
    const { workspace: elsewhere } = await withDemo();
    for (let round = 0; round < 2; round += 1) {
      const { code, stderr, stdout } = await svc(elsewhere, args);
      expect(stderr).toBe('');
      expect(stdout).toMatch(/\nstatus: {2}ok\n$/);
      expect(code).toBe(0);
    }
    expect(readdirSync(join(elsewhere.folder, 'workdir'))).toHaveLength(2);
  });

  it('has to be named whole, and to exist', async () => {
    const workspace = capsule();
    expect((await svc(workspace, ['run', '--capsule', 'demo'])).code).toBe(2);
    const missing = await svc(workspace, ['run', '--capsule', 'demo', '--capsule-version', '9.9.9']);
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    expect(missing.stderr).toMatch(/^error\[E-REG-001\]: demo@9\.9\.9 /);
  });
});

describe('svc build', () => {
  it('refuses a tool whose input schema could never be used', async () => {
    const workspace = capsule({
      files: {
        'tool/svc.yaml':
          'name: broken\nversion: 1.0.0\nruntime: tool\ninput_schema: { type: object, properties: { a: { type: strng } } }\n',
        'tool/component.wasm': '\0asm\r\0\u0001\0',
      },
    });
    const { code, stdout, stderr } = await svc(workspace, ['build', 'tool']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-MAN-003\]: input_schema of broken cannot be used: /);
    expect(readdirSync(workspace.folder)).not.toContain('broken-1.0.0.zip');
  });
});
