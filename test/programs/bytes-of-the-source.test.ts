import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { MemoryOci } from '../../packages/artifacts/test/sources/memory-oci.ts';
import { json, StandInServer } from '../../packages/artifacts/test/sources/stand-in-server.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { type Published, skillArchive, SkillRegistry } from '../support/published-skills.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const local = { SVC_REGISTRY_URL: 'local' };

let registry: SkillRegistry;
let workspace: Workspace;
let published: Published;
beforeEach(async () => {
  registry = await SkillRegistry.open();
  workspace = capsule({ manifest: 'artifacts: []\n', files: taskFile });
  published = await registry.publish('style', '1.1.0');
  await registry.publish('style', '1.0.0');
  draft('Be a draft.');
});

function draft(text: string): void {
  workspace.write('style/svc.yaml', 'name: style\nversion: 1.1.0\nruntime: skill\n');
  workspace.write('style/skill.md', text);
}

async function run(args: readonly string[], env: Readonly<Record<string, string>> = registry.env): Promise<SvcEnd> {
  return await svc(workspace, args, { env });
}

async function done(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string> {
  const end = await run(args, env);
  if (end.code !== 0) throw new Error(`svc ${args.join(' ')}: ${end.stderr}`);
  return end.stdout;
}

interface Row {
  readonly bytes: number | null;
  readonly sha256: string | null;
  readonly lines: readonly string[];
}

const row = (stdout: string): Row => JSON.parse(stdout) as Row;
const manifest = (): string => readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');

interface Locked {
  readonly sha256: string;
  readonly from?: string;
}

function locked(): Locked | undefined {
  const text = readFileSync(join(workspace.folder, 'svc.lock'), 'utf8');
  const { artifacts } = JSON.parse(text) as { artifacts: (Locked & { name: string })[] };
  return artifacts.find(({ name }) => name === 'style');
}

/** What the command says with `--dry-run`, which changes nothing, and then without. */
async function plannedAndDone(...args: readonly string[]): Promise<[Row, Row]> {
  const before = manifest();
  const planned = row(await done([...args, '--json', '--dry-run']));
  expect(manifest()).toBe(before);
  return [planned, row(await done([...args, '--json']))];
}

describe('a copy on this machine with other bytes than the registry has', () => {
  const facts = (): object => ({ bytes: published.bytes.length, sha256: published.sha256 });

  it.each([
    ['the store of the user', ['install', '-g', './style']],
    ['the store of the project', ['install', './style']],
  ])('in %s is not what svc add takes', async (_, install) => {
    await done(install);
    expect(await plannedAndDone('add', 'style')).toMatchObject([facts(), facts()]);
    expect(locked()?.sha256).toBe(published.sha256);
    const other = capsule({ files: taskFile });
    for (const file of ['svc.yaml', 'svc.lock']) other.write(file, readFileSync(join(workspace.folder, file), 'utf8'));
    expect(await svc(other, ['install'], { env: registry.env })).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['run', '--offline'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('stays unused by svc update', async () => {
    await done(['add', 'style@1.0.0']);
    workspace.write('svc.yaml', manifest().replace('version: 1.0.0, ', 'version: 1.0.0, range: ^1.0.0, '));
    await done(['install', '-g', './style']);
    expect(await plannedAndDone('update')).toMatchObject([facts(), facts()]);
    expect(locked()?.sha256).toBe(published.sha256);
  });

  it('fails where svc.lock records it, with --dry-run too', async () => {
    await done(['install', './style']);
    await done(['add', 'style@1.1.0'], local);
    expect(locked()?.sha256).not.toBe(published.sha256);
    const before = manifest();
    for (const more of [['--dry-run'], []]) {
      const { code, stderr } = await run(['add', 'style@^1.1.0', ...more]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('error[E-REG-005]: ') as string]);
      expect(stderr).toContain(`with sha256 ${published.sha256}, but svc.lock records ${locked()?.sha256}`);
    }
    expect(manifest()).toBe(before);
  });

  it('fails where it comes with svc, which goes first', async () => {
    const { sha256 } = await registry.publish('svc-tool-editor', '1.0.0');
    const before = manifest();
    for (const more of [['--dry-run'], []]) {
      const { code, stderr } = await run(['add', 'svc-tool-editor@1.0.0', ...more]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('error[E-REG-031]: ') as string]);
      expect(stderr).toContain(`with sha256 ${sha256}, but what comes with svc under that name goes first`);
      expect(stderr).toContain('hint: choose another version, or take what comes with svc with --registry local');
    }
    expect(manifest()).toBe(before);
  });
});

it('a copy on this machine with the bytes that the registry lists is taken, and nothing fetched', async () => {
  const { bytes, sha256 } = await skillArchive('style', '1.1.0');
  await done(['install', '-g', 'style@1.1.0']);
  const archives = [{ platforms: [], sha256, size: bytes.length }];
  const version = { version: '1.1.0', state: 'active', runtime: 'static', artifact_runtime: 'skill', archives };
  const lists = await StandInServer.open(json(200, { name: 'style', versions: [version] }));
  expect(row(await done(['add', 'style', '--json', '--registry', lists.url]))).toMatchObject({ sha256 });
  expect(new Set(lists.lines)).toEqual(new Set(['GET /v1/artifacts/style']));
});

describe('svc add of a place', () => {
  it('fails when nobody answers there, whatever this machine has under that name', async () => {
    await done(['install', '-g', 'style@1.1.0']);
    const before = manifest();
    for (const more of [['--dry-run'], []]) {
      const { code, stderr } = await run(['add', 'oci://nohost.invalid/x/style:1.1.0', ...more]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('error[E-IO-003]: ') as string]);
      expect(stderr).toContain('nohost.invalid');
    }
    expect([manifest(), existsSync(join(workspace.folder, 'svc.lock'))]).toEqual([before, false]);
  });

  it('takes what is there, and records the place; once it is recorded, nobody has to be asked again', async () => {
    const oci = await MemoryOci.open();
    const [, sha256 = ''] = (await done(['publish', 'style', '--registry', `oci://${oci.host}/acme`]))
      .trim()
      .split(' ');
    await done(['install', '-g', 'style@1.1.0']);
    const place = `oci://${oci.host}/acme/style:1.1.0`;
    const [planned, added] = await plannedAndDone('add', place);
    expect([planned.sha256, added.sha256, planned.bytes]).toEqual([sha256, sha256, added.bytes]);
    expect(locked()).toMatchObject({
      sha256,
      from: expect.stringMatching(`^oci://${oci.host}/acme/style@sha256:[0-9a-f]{64}$`) as string,
    });
    oci.fault = (_, response) => {
      response.writeHead(500).end();
      return true;
    };
    expect(row(await done(['add', place, '--json']))).toMatchObject({ sha256 });
  });
});
