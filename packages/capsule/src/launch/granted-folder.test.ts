import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { lower } from '@svc/artifacts/grants/effective-grants.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { grantedFolder, type GrantedFolder, handedOn } from './granted-folder.ts';
import type { CapsuleSource } from './launch-host.ts';
import type { NamedProject } from './running-capsule.ts';

const isRoot = process.getuid?.() === 0;
let made: string[] = [];
afterEach(() => {
  for (const each of made.splice(0)) rmSync(each, { recursive: true });
});

/** A folder with a manifest in it, a home, and a folder beside both. */
function surroundings(): { readonly base: string; readonly folder: string; readonly home: string } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'granted-')));
  made.push(base);
  for (const name of ['shop/src', 'home/.svc', 'other', 'parent']) mkdirSync(join(base, name), { recursive: true });
  writeFileSync(join(base, 'shop/file'), 'a file\n');
  writeFileSync(join(base, 'shop/svc.yaml'), '');
  return { base, folder: join(base, 'shop'), home: join(base, 'home') };
}

interface Asked {
  readonly project?: string;
  readonly capabilities?: string;
  readonly named?: NamedProject;
  readonly workdir?: string;
  readonly published?: boolean;
  readonly achieved?: 'sealed' | 'scoped';
}

async function granted(base: string, asked: Asked): Promise<GrantedFolder> {
  const { project, capabilities = 'shell: { allow: [ls] }', named, workdir = null, published = false } = asked;
  const [folder, home] = [join(base, 'shop'), join(base, 'home')];
  const lines = project === undefined ? capabilities : `project: ${project}, ${capabilities}`;
  const text = `name: shop\nversion: 0.1.0\ninference: { transport: process, command: agent }\ncapabilities: { ${lines} }\n`;
  const file = join(folder, 'svc.yaml');
  const loaded = loadCapsuleManifest({ file, text, env: {}, purpose: 'inspect' });
  const source: CapsuleSource = {
    manifestFile: file,
    manifestDirectory: folder,
    root: folder,
    state: folder,
    lockDirectory: folder,
    holdsLock: true,
  };
  return await grantedFolder({
    request: {
      published: published ? { name: 'shop', version: '0.1.0' } : null,
      workdir,
      cwd: folder,
      home,
      env: {},
      ...(named === undefined ? {} : { project: named }),
    },
    source,
    loaded,
    grants: lower(loaded).grants,
    achieved: asked.achieved ?? 'sealed',
    env: {},
    packageRoot: findPackageRoot(import.meta.filename),
    isReport: true,
  });
}

/** The one refusal with its hint, with `BASE` for the place of the test. */
async function refusal(base: string, asked: Asked): Promise<string> {
  const { refusals, project } = await granted(base, asked);
  expect(project).toBeNull();
  const [{ code, message, hint = '' }] = refusals as [(typeof refusals)[number]];
  return `${code} ${message} (${hint})`.replaceAll(base, 'BASE');
}

describe('capabilities.project', () => {
  it.each<[what: string, asked: Asked, said: string]>([
    [
      'is missing',
      { project: '{ path: gone }' },
      'E-CAP-028 capabilities.project.path: "BASE/shop/gone" cannot be opened: no such file or directory (name a folder below that of the manifest, . for that itself)',
    ],
    [
      'is a file',
      { project: '{ path: file }' },
      'E-CAP-028 capabilities.project.path: "BASE/shop/file" is a file (name a folder below that of the manifest, . for that itself)',
    ],
    [
      'is not named',
      { project: '{}' },
      'E-CAP-028 capabilities.project: names no path, and no folder was given (give it one: --project <dir>, such as --project .)',
    ],
    [
      'is that of a published capsule',
      { project: '{ path: . }', published: true },
      'E-CAP-028 capabilities.project: of a published capsule names no folder of this machine, and no folder was given (give it one: --project <dir>, such as --project .)',
    ],
    [
      'is named twice',
      { project: '{ path: . }', named: { path: '/BASE/other' } },
      'E-CAP-028 capabilities.project.path: names ".", and so does --project (leave --project out, or take path out of the manifest)',
    ],
    [
      'is named by --project and not there',
      { project: '{}', named: { path: '/nowhere/at/all' } },
      'E-CAP-028 capabilities.project: "/nowhere/at/all" cannot be opened: no such file or directory (name a folder that is there: --project <dir>)',
    ],
    [
      'stands beside --workdir',
      { project: '{ path: . }', workdir: '/tmp/work' },
      'E-CAP-028 capabilities.project: takes no --workdir: the session has a fresh one, with the folder in it as project/ (leave --workdir out)',
    ],
    [
      'is the root of all',
      { project: '{}', named: { path: '/' } },
      'E-CAP-022 "/" is not given to an agent: it is the root of the file system (go to the folder of one project, or start with an empty one)',
    ],
  ])('refuses a folder that %s', async (_, asked, said) => {
    const { base } = surroundings();
    expect(await refusal(base, asked)).toBe(said);
  });

  it('has to be there for --project', async () => {
    const { base } = surroundings();
    expect(await refusal(base, { named: { path: join(base, 'other') } })).toBe(
      'E-CAP-028 --project names a folder, and BASE/shop/svc.yaml has no capabilities.project (add capabilities: { project: {} } to the manifest, or leave --project out)',
    );
  });

  it('follows no link out of the folder of the manifest, and one that stays in it', async () => {
    const { base, folder } = surroundings();
    symlinkSync('../other', join(folder, 'out'));
    symlinkSync('src', join(folder, 'in'));
    expect(await refusal(base, { project: '{ path: out }' })).toBe(
      'E-CAP-028 capabilities.project.path: "out" leads out of the folder of the manifest, to "BASE/other" (name a folder below; --project names any other, without path)',
    );
    const { project } = await granted(base, { project: '{ path: in }' });
    expect(project?.scope.project_folder?.path).toBe(join(folder, 'src'));
  });

  it.each([
    ['home', 'is your home folder'],
    ['.', 'holds your home folder'],
    ['home/.svc', 'lies in a folder named .svc'],
  ])('refuses %s as a folder, since it %s', async (place, why) => {
    const { base } = surroundings();
    const named = { path: join(base, place) };
    expect(await refusal(base, { project: '{}', named })).toContain(`is not given to an agent: it ${why}`);
  });

  it.skipIf(isRoot)('refuses a folder that this user may not read, or not write in (skipped for root)', async () => {
    const { base, folder } = surroundings();
    chmodSync(join(folder, 'src'), 0o500);
    expect(await refusal(base, { project: '{ path: src, write: true }' })).toContain(
      'capabilities.project.write: "BASE/shop/src" cannot be written in by this user: permission denied (let this user write there, or set write: false)',
    );
    chmodSync(join(folder, 'src'), 0o000);
    expect(await refusal(base, { project: '{ path: src }' })).toContain(
      'cannot be read by this user: permission denied',
    );
    chmodSync(join(folder, 'src'), 0o700);
  });

  it('refuses in class scoped that commands write beside the manifest', async () => {
    const { base } = surroundings();
    const asked = { project: '{ path: ., write: true }', achieved: 'scoped' } as const;
    expect(await refusal(base, asked)).toContain(
      'E-CAP-023 .env files cannot be kept from programs here: BASE/shop holds svc.yaml, which is only kept from programs that may write beside it in class sealed',
    );
  });

  it('masks the manifest, and what the manifest lists, links with what they lead to', async () => {
    const { base, folder } = surroundings();
    writeFileSync(join(folder, 'src/key'), 'secret');
    symlinkSync('src/key', join(folder, 'link'));
    const { project, warnings } = await granted(base, { project: '{ path: ., mask: [link, src/gone] }' });
    expect(project?.scope.project_folder?.masked).toEqual(['src/key', 'svc.yaml']);
    expect(warnings.map(({ code, message }) => `${code} ${message}`)).toEqual([
      'W-SEC-034 capabilities.project.mask: "src/gone" is not there',
    ]);
  });

  it('keeps its sessions in the home, and its lock where there is one', async () => {
    const { base, folder, home } = surroundings();
    const { source } = await granted(base, { project: '{ path: src }' });
    expect(source.state).toMatch(new RegExp(`^${home}/\\.svc/folders/shop-[0-9a-f]{16}$`));
    expect(source.lockDirectory).toBe(source.state);
    writeFileSync(join(folder, 'svc.lock'), '');
    expect((await granted(base, { project: '{ path: src }' })).source.lockDirectory).toBe(folder);
    expect(existsSync(source.state)).toBe(false);
  });

  it('gives a child the folder of its parent, with its masks and no more than it may do there', async () => {
    const { base } = surroundings();
    const parent = join(base, 'parent');
    for (const name of ['key', 'own', '.env']) writeFileSync(join(parent, name), 'secret');
    const named = { path: parent, ofParent: { write: false, mask: ['key'] } };
    const child = {
      project: '{ path: gone, write: true, mask: [own] }',
      published: true,
      workdir: '/tmp/child',
      named,
    };
    const { project } = await granted(base, child);
    const folder = { path: parent, writable: false, masked: ['.env', 'key', 'own'] };
    expect(project?.scope.project_folder).toEqual(folder);
    expect(project && handedOn(project)).toEqual({ path: parent, ofParent: { write: false, mask: ['key', 'own'] } });
  });
});
