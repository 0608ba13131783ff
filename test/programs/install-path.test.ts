import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { archiveBytes, skillFiles } from '../../packages/artifacts/test/store/artifacts.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

let workspace: Workspace;
beforeEach(() => {
  workspace = capsule({
    manifest: 'artifacts: [{ name: style, version: 1.0.0, runtime: skill }]\n',
    files: {
      ...taskFile,
      'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\n',
      'style/skill.md': 'Be brief.',
    },
  });
});

async function install(...args: string[]): Promise<SvcEnd> {
  return await svc(workspace, ['install', ...args]);
}

const stored = (...path: string[]): string => join(workspace.folder, '.svc', 'artifacts', ...path);

describe('svc install <path>', () => {
  it('packs and installs a folder, and records what the manifest lists', async () => {
    const { code, stdout, stderr } = await install('./style', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { sha256, ...row } = JSON.parse(stdout) as Record<string, unknown>;
    expect(row).toEqual({ name: 'style', version: '1.0.0', origin: 'source', platform: null });
    expect(readFileSync(stored('style', '1.0.0', 'style-1.0.0.zip.sha256'), 'utf8')).toContain(String(sha256));
    expect(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')).toContain(String(sha256));
    expect((await install('--offline')).code).toBe(0);
    expect((await svc(workspace, ['run', '--offline'])).code).toBe(0);
  });

  it('installs an archive, under the name that its manifest has', async () => {
    writeFileSync(join(workspace.folder, 'any.zip'), await archiveBytes(skillFiles('tone', 'Be calm.')));
    expect(await install('any.zip')).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(stored())).toEqual(['tone']);
    expect(existsSync(join(workspace.folder, 'svc.lock'))).toBe(false);
  });

  it('replaces what was there, and svc.lock follows', async () => {
    await install('./style');
    const before = readFileSync(join(workspace.folder, 'svc.lock'), 'utf8');
    workspace.write('style/skill.md', 'Be long.');
    expect((await install('./style')).code).toBe(0);
    expect(readFileSync(stored('style', '1.0.0', 'style-1.0.0.zip'), 'latin1')).toContain('Be long.');
    expect(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')).not.toBe(before);
  });

  it('installs a capsule with -g, which then runs from anywhere', async () => {
    const author = capsule({ files: taskFile });
    const path = author.folder;
    expect(await install('-g', path)).toMatchObject({ code: 0, stderr: '' });
    const end = await svc(workspace, ['run', '--capsule', 'demo', '--capsule-version', '1.2.3']);
    expect(end).toMatchObject({ code: 0, stdout: expect.stringMatching(/\nstatus: {2}ok\n$/) as string });
  });

  it.each([
    ['./nowhere', 'E-IO-001'],
    ['./task.md', 'E-ART-001'],
    ['./workdir', 'E-ART-004'],
  ])('refuses %s with %s and stores nothing', async (path, code) => {
    workspace.write('workdir/x', 'no manifest');
    const end = await install(path);
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toMatch(new RegExp(`^error\\[${code}\\]: `));
    expect(existsSync(stored()) ? readdirSync(stored()) : []).toEqual([]);
  });
});
