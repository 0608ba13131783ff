import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

function skill(name: string): Record<string, string> {
  return {
    [`${name}/svc.yaml`]: `name: ${name}\nversion: 1.0.0\nruntime: skill\n`,
    [`${name}/skill.md`]: `Be ${name}.\n`,
  };
}

function recorded(workspace: Workspace, lock: string): string[] {
  const { artifacts } = JSON.parse(readFileSync(join(workspace.folder, lock), 'utf8')) as {
    artifacts: { name: string }[];
  };
  return artifacts.map(({ name }) => name);
}

/** The command of a hint, as a shell would read it. */
async function asHinted(workspace: Workspace, stderr: string): Promise<number | null> {
  const [, words = ''] = /^hint: run svc (.+?) to /m.exec(stderr) ?? [];
  const args = [...words.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  return (await svc(workspace, args)).code;
}

describe('a new artifact of a manifest', () => {
  it.each([
    ['./svc.yaml', 'svc.lock', 'svc install'],
    ['deploy/svc.yaml', 'deploy/svc.lock', 'svc install --manifest deploy/svc.yaml'],
    ['my capsules/svc.yaml', 'my capsules/svc.lock', "svc install --manifest 'my capsules/svc.yaml'"],
  ])('in %s is refused by svc run with the very command that adds it to %s', async (manifest, lock, command) => {
    const folder = manifest.slice(0, -'svc.yaml'.length);
    const files = Object.entries({ ...skill('style'), ...skill('tone'), ...taskFile });
    const workspace = capsule();
    for (const [path, text] of files) workspace.write(`${folder}${path}`, text);
    const text = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write(`${folder}script.yaml`, readFileSync(join(workspace.folder, 'script.yaml'), 'utf8'));
    const needs = (...names: string[]): void => {
      const entries = names.map((name) => `  - { name: ${name}, version: 1.0.0, runtime: skill, source: ./${name} }\n`);
      workspace.write(manifest, `${text}artifacts:\n${entries.join('')}`);
    };
    needs('style');
    expect(await svc(workspace, ['run', '--manifest', manifest])).toMatchObject({ code: 0, stderr: '' });
    needs('style', 'tone');
    const refused = await svc(workspace, ['run', '--manifest', manifest]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('error[E-RUN-003]: artifact tone@1.0.0 ');
    expect(refused.stderr).toContain(`hint: run ${command} to bring svc.lock up to date with the manifest\n`);
    expect(recorded(workspace, lock)).not.toContain('tone');
    expect(await asHinted(workspace, refused.stderr)).toBe(0);
    expect(recorded(workspace, lock)).toEqual(expect.arrayContaining(['style', 'tone']));
    expect(await svc(workspace, ['run', '--manifest', manifest])).toMatchObject({ code: 0, stderr: '' });
  });
});
