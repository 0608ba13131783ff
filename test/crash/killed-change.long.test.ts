import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { beforeEach, describe, expect, it } from 'vitest';

import { temporaryDirectory } from '../../packages/artifacts/test/store/artifacts.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { SkillRegistry } from '../support/published-skills.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const preload = fileURLToPath(new URL('../support/killed-at-rename.cjs', import.meta.url));

const manifest = `artifacts:
  - { name: style, version: 1.2.0, runtime: skill, range: ^1.0.0 } # how it writes
  - { name: tone, version: 1.0.0, runtime: skill }
`;

let registry: SkillRegistry;
let workspace: Workspace;
beforeEach(async () => {
  registry = await SkillRegistry.start(temporaryDirectory());
  workspace = capsule({ manifest, files: taskFile });
  for (const ref of ['style 1.2.0', 'tone 1.0.0']) {
    const [name = '', version = ''] = ref.split(' ');
    await registry.publish(name, version);
  }
  await svc(workspace, ['install'], { env: registry.env });
  await registry.publish('style', '1.4.0');
});

const text = (file: string): string => readFileSync(join(workspace.folder, file), 'utf8');

function locked(): string[] {
  const { artifacts } = JSON.parse(text('svc.lock')) as { artifacts: { name: string; version: string }[] };
  return artifacts.map(({ name, version }) => `${name}@${version}`).filter((ref) => !ref.startsWith('svc-driver'));
}

const before = ['style@1.2.0', 'tone@1.0.0'];
const after = ['style@1.4.0', 'tone@1.0.0'];
const both = ['style@1.2.0', 'style@1.4.0', 'tone@1.0.0'];

describe('svc update that is killed', () => {
  it.each([
    ['before svc.lock is written', 'svc.lock', '1.2.0', before, after],
    ['between svc.lock and svc.yaml', 'svc.yaml', '1.2.0', both, after],
    // Nothing is left to update: what is too much in the lock stays until the entry changes again.
    ['before the old version leaves svc.lock', 'svc.lock 2', '1.4.0', both, both],
  ])(
    '%s leaves files that agree, and the next one goes on from there',
    async (_when, killAt, version, inLock, inLockThen) => {
      const env = { ...registry.env, NODE_OPTIONS: `--require ${preload}`, KILL_AT: killAt };
      expect((await svc(workspace, ['update'], { env })).signal).toBe('SIGKILL');
      expect(text('svc.yaml')).toContain(`version: ${version}, runtime: skill, range: ^1.0.0 } # how it writes\n`);
      expect(locked()).toEqual(inLock);
      expect(await svc(workspace, ['run', '--offline'])).toMatchObject({ code: 0, stderr: '' });
      expect(await svc(workspace, ['install', '--frozen', '--offline'])).toMatchObject({ code: 0, stderr: '' });
      const again = await svc(workspace, ['update', '--latest', 'style'], { env: registry.env });
      expect(again.code).toBe(0);
      expect(text('svc.yaml')).toContain('version: 1.4.0');
      expect(locked()).toEqual(inLockThen);
      expect(await svc(workspace, ['run', '--offline'])).toMatchObject({ code: 0, stderr: '' });
    },
    90_000,
  );
});

it('several svc add at once lose nothing', async () => {
  const names = ['maps', 'rules', 'terms'];
  for (const name of names) await registry.publish(name, '1.0.0');
  const ends = await Promise.all(names.map(async (name) => await svc(workspace, ['add', name], { env: registry.env })));
  expect(ends.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(['0 ', '0 ', '0 ']);
  for (const name of names) {
    expect(text('svc.yaml')).toContain(`- { name: ${name}, version: 1.0.0, runtime: skill, range: ^1.0.0 }\n`);
  }
  expect(locked()).toEqual(['maps@1.0.0', 'rules@1.0.0', 'style@1.2.0', 'terms@1.0.0', 'tone@1.0.0']);
  expect(await svc(workspace, ['run', '--offline'])).toMatchObject({ code: 0, stderr: '' });
}, 90_000);
