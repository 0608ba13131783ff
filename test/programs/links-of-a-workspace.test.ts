import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { onlySession, taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsules = useCapsules();

/** A capsule that has every file that `svc run` reads beside a manifest. */
function capsule(): Workspace {
  const workspace = capsules({
    manifest: 'artifacts: [{ name: style, version: 1.0.0, runtime: skill, source: ./style }]\n',
    files: {
      ...taskFile,
      'prompt.md': 'Be brief.\n',
      '.env': 'GREETING=hello\n',
      '.svc/config.yaml': 'containment: advisory\n',
      'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\n',
      'style/skill.md': 'Be kind.\n',
    },
  });
  const manifest = join(workspace.folder, 'svc.yaml');
  execFileSync('sed', ['-i', 's/^  model:/  system_prompt_file: prompt.md\\n  model:/', manifest]);
  return workspace;
}

const files = [
  ['prompt.md', 'E-RUN-009'],
  ['script.yaml', 'E-RUN-030'],
  ['task.md', 'E-IO-001'],
  ['.env', 'E-IO-001'],
  ['svc.lock', 'E-IO-001'],
  ['.svc/config.yaml', 'E-IO-001'],
  ['style/skill.md', 'E-ART-002'],
] as const;

describe('a file that svc run reads because it lies in the workspace', () => {
  it.each(files)('makes the run fail where %s is a link that leads out, and nothing starts', async (file, code) => {
    const workspace = capsule();
    if (file === 'svc.lock') {
      expect((await svc(workspace, ['run'])).code).toBe(0);
      rmSync(join(workspace.folder, 'workdir'), { recursive: true });
    }
    moveBehindLink(workspace, file, join(workspace.home, 'elsewhere'));
    const end = await svc(workspace, ['run']);
    expect([end.code, end.stdout]).toEqual([1, '']);
    expect(end.stderr).toMatch(new RegExp(`^error\\[${code}\\]: .*(?:leads out of|lies outside)`));
    expect(end.stderr).not.toContain('E-IO-002');
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
  });

  it('may be a link to another place of the workspace', async () => {
    const workspace = capsule();
    for (const [file] of files)
      if (file !== 'svc.lock' && file !== 'style/skill.md')
        moveBehindLink(workspace, file, join(workspace.folder, 'kept', file));
    expect(await svc(workspace, ['run'])).toMatchObject({ code: 0, stderr: '' });
    expect(onlySession(workspace)).not.toBe('');
  });

  it.each(files)('makes the run fail at once where %s is a pipe that nobody writes into', async (file, code) => {
    const workspace = capsule();
    rmSync(join(workspace.folder, file), { force: true });
    execFileSync('mkfifo', [join(workspace.folder, file)]);
    const { code: exit, stderr } = await svc(workspace, ['run']);
    expect(exit).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`^error\\[${code === 'E-ART-002' ? 'E-IO-001' : code}\\]: .*it is not a regular file`),
    );
  });

  it('leads to no other workspace where only its target is missing', async () => {
    const workspace = capsule();
    rmSync(join(workspace.folder, '.env'));
    symlinkSync(join(workspace.home, 'nothing'), join(workspace.folder, '.env'));
    expect((await svc(workspace, ['run'])).stderr).toMatch(/^error\[E-IO-001\]: .*leads out of/);
  });
});

function moveBehindLink(workspace: Workspace, file: string, target: string): void {
  const place = join(workspace.folder, file);
  mkdirSync(dirname(target), { recursive: true });
  if (existsSync(place)) renameSync(place, target);
  else writeFileSync(target, '');
  symlinkSync(target, place);
}
