import { mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { writeRunningRecord } from '@svc/record/sessions/running-record.ts';
import { temporaryDirectory } from '../../packages/artifacts/test/store/artifacts.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { SkillRegistry } from '../support/published-skills.ts';
import { liveRecord } from '../support/running-record.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

let registry: SkillRegistry;
let workspace: Workspace;
beforeEach(async () => {
  registry = await SkillRegistry.open();
  workspace = capsule({ files: taskFile });
  for (const version of ['1.0.0', '1.1.0', '1.2.0', '1.3.0']) await registry.publish('style', version);
});

async function run(...args: string[]): Promise<SvcEnd> {
  return await svc(workspace, args, { env: registry.env });
}

async function pruned(...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await run('prune', '--artifacts', '--json', ...args);
  expect([code, stderr.replace(/^(?:removed|there is nothing to remove) .*\n/, '')]).toEqual([0, '']);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { kind: string; name: string; outcome: string })
    .map(({ kind, name, outcome }) => `${kind} ${name} ${outcome}`);
}

/** As if it had been stored two days ago. */
function age(root: string, name: string): void {
  const store = join(root, '.svc', 'artifacts', name);
  const at = new Date(Date.now() - 2 * 86_400_000);
  for (const version of readdirSync(store)) utimesSync(join(store, version), at, at);
}

const versions = (root: string): string[] => readdirSync(join(root, '.svc', 'artifacts', 'style')).sort();

describe('svc prune --artifacts', () => {
  beforeEach(async () => {
    for (const version of ['1.0.0', '1.1.0', '1.2.0']) await run('add', `style@${version}`);
    await run('install');
  });

  it('removes what svc.lock does not name and is older than a day, and lists it first', async () => {
    expect(await pruned('--yes')).toEqual([]);
    age(workspace.folder, 'style');
    expect(await pruned('--dry-run')).toEqual(['artifact style@1.0.0 listed', 'artifact style@1.1.0 listed']);
    expect(versions(workspace.folder)).toEqual(['1.0.0', '1.1.0', '1.2.0']);
    expect(await pruned('--yes')).toEqual(['artifact style@1.0.0 removed', 'artifact style@1.1.0 removed']);
    expect(versions(workspace.folder)).toEqual(['1.2.0']);
    expect(await run('run', '--offline')).toMatchObject({ code: 0, stderr: '' });
    expect((await run('prune', '--artifacts', '--dry-run')).stderr).toContain('there is nothing to remove in ');
  });

  it('follows no link, and leaves what is no version', async () => {
    const store = join(workspace.folder, '.svc', 'artifacts');
    const outside = temporaryDirectory();
    writeFileSync(join(outside, 'precious'), '');
    symlinkSync(outside, join(store, 'tone'));
    symlinkSync(outside, join(store, 'style', '9.9.9'));
    mkdirSync(join(store, 'style', '.own'));
    age(workspace.folder, 'style');
    expect(await pruned('--yes')).toEqual(['artifact style@1.0.0 removed', 'artifact style@1.1.0 removed']);
    expect(readdirSync(outside)).toEqual(['precious']);
  });

  it('leaves what a session of the project may read', async () => {
    age(workspace.folder, 'style');
    const record = liveRecord({ session_directory: join(workspace.folder, '.svc', 'sessions', 'x') });
    const end = writeRunningRecord(workspace.home, record);
    expect(await pruned('--yes')).toEqual(['artifact style@1.0.0 runs', 'artifact style@1.1.0 runs']);
    end();
    expect(versions(workspace.folder)).toEqual(['1.0.0', '1.1.0', '1.2.0']);
  });

  it('with -g looks at every project that an install has met, and at those that run what the store has', async () => {
    const other = capsule({
      manifest: 'artifacts:\n  - { name: style, version: 1.0.0, runtime: skill }\n',
      files: taskFile,
    });
    const inHome = { env: { ...registry.env, HOME: workspace.home } };
    expect((await svc(other, ['install'], inHome)).code).toBe(0);
    const projects = JSON.parse(readFileSync(join(workspace.home, '.svc', 'projects.json'), 'utf8')) as unknown;
    expect(projects).toEqual({ projects_version: 1, projects: [other.folder, workspace.folder] });
    for (const version of ['1.0.0', '1.1.0', '1.2.0']) {
      expect((await run('install', '-g', `style@${version}`)).code).toBe(0);
    }
    expect((await run('install', '-g', 'style@1.3.0')).code).toBe(0);
    const running = capsule({
      manifest: 'artifacts:\n  - { name: style, version: 1.3.0, runtime: skill }\n',
      files: taskFile,
    });
    expect((await svc(running, ['run', '--offline'], { env: { HOME: workspace.home } })).code).toBe(0);
    age(workspace.home, 'style');
    expect(await pruned('-g', '--yes')).toEqual(['artifact style@1.1.0 removed']);
    expect(versions(workspace.home)).toEqual(['1.0.0', '1.2.0', '1.3.0']);
    expect(versions(workspace.folder)).toEqual(['1.0.0', '1.1.0', '1.2.0']);
  });

  it('gets a warning from an install that cannot record its project and still succeeds', async () => {
    const projects = join(workspace.home, '.svc', 'projects.json');
    rmSync(projects);
    mkdirSync(projects);
    const { code, stderr } = await run('install');
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /^warning\[W-REG-032\]: this project is not recorded for svc prune --artifacts -g: .*\nhint: .*\n$/,
      ),
    ]);
  });
});

describe('svc prune --artifacts where it is not known what is needed', () => {
  it('removes nothing without a svc.lock, or with a damaged one', async () => {
    expect((await run('install', 'style@1.0.0')).code).toBe(0);
    age(workspace.folder, 'style');
    for (const args of [['--yes'], ['-g', '--yes']]) {
      const { code, stderr } = await run('prune', '--artifacts', ...args);
      expect([code, stderr.slice(0, 18)]).toEqual([1, 'error[E-RUN-129]: ']);
    }
    workspace.write('svc.lock', '{');
    expect((await run('prune', '--artifacts', '--yes')).stderr).toContain('error[E-ART-007]');
    expect(versions(workspace.folder)).toEqual(['1.0.0']);
  });

  it('asks before it removes, and takes no option that is about sessions', async () => {
    expect((await run('add', 'style@1.0.0')).code).toBe(0);
    expect((await run('add', 'style@1.1.0')).code).toBe(0);
    expect((await run('install')).code).toBe(0);
    age(workspace.folder, 'style');
    expect((await run('prune', '--artifacts')).stderr).toContain('error[E-RUN-126]: svc prune would remove 1 thing');
    for (const args of [['-g'], ['--artifacts', '--keep', '3'], ['--artifacts', '--caches']]) {
      expect(await run('prune', ...args)).toMatchObject({ code: 2, stdout: '' });
    }
    expect(versions(workspace.folder)).toEqual(['1.0.0', '1.1.0']);
  });
});
