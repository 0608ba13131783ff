import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { resolveEach } from '../../src/store/resolve.ts';
import type { InstalledArtifact } from '../../src/store/installed-artifact.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { emptyPlaces, writeFiles } from './artifacts.ts';

let places: StorePlaces;
let folder: string;

const entry = { name: 'forms', version: '1.0.0', runtime: 'skill', source: './skills/forms' } as const;

beforeEach(async () => {
  places = { ...emptyPlaces(), build: 'a' };
  folder = join(places.manifestDir, 'skills/forms');
  await writeFiles(folder, {
    'SKILL.md': '---\nname: any\ndescription: Fills forms.\n---\nDo it.\n',
    'references/list.md': 'A list.\n',
    'scripts/fill.py': 'print(1)\n',
    'scripts/check': '#!/usr/bin/env -S bash -e\n',
    'assets/logo.sh': 'no script\n',
  });
});

async function resolved(): Promise<InstalledArtifact> {
  const [resolution] = await resolveEach([entry], places);
  if (resolution?.kind !== 'installed') throw resolution?.fault ?? new Error('nothing');
  return resolution.artifact;
}

async function refusal(): Promise<unknown> {
  const [resolution] = await resolveEach([entry], places);
  return resolution?.kind === 'failed' ? resolution.fault : null;
}

const kept = (): string[] => readdirSync(join(places.userHome, '.svc/cache/skills'));

describe('a standard skill folder', () => {
  it('makes a skill under the name of its entry', async () => {
    const { manifest, skillText, skill, origin } = await resolved();
    expect(manifest).toMatchObject({ name: 'forms', version: '1.0.0', runtime: 'skill', description: 'Fills forms.' });
    expect(skillText).toBeNull();
    expect(origin).toBe('source');
    expect(skill?.files).toEqual(['assets/logo.sh', 'references/list.md', 'scripts/check', 'scripts/fill.py']);
    expect(skill?.scripts).toEqual({ 'scripts/check': 'bash', 'scripts/fill.py': 'python3' });
  });

  it('leaves out what tools leave there', async () => {
    const { sha256 } = await resolved();
    await writeFiles(folder, {
      '.git/config': 'x',
      'node_modules/a/index.js': 'x',
      'scripts/__pycache__/fill.pyc': 'x',
    });
    expect((await resolved()).sha256).toBe(sha256);
  });

  it('has a hash that every file changes', async () => {
    const { sha256 } = await resolved();
    writeFileSync(join(folder, 'references/list.md'), 'B list.\n');
    const changed = await resolved();
    expect(changed.sha256).not.toBe(sha256);
    writeFileSync(join(folder, 'references/list.md'), 'A list.\n');
    expect((await resolved()).sha256).toBe(sha256);
  });

  it('stays unread while nothing in it changes, and gives the same then', async () => {
    const first = await resolved();
    const [name = ''] = kept();
    const path = join(places.userHome, '.svc/cache/skills', name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('Fills forms.', 'Kept.'));
    const second = await resolved();
    expect(second.manifest.description).toBe('Kept.');
    expect({ ...second, manifest: first.manifest, skill: null }).toEqual({
      ...first,
      skill: null,
      read: expect.any(Function) as unknown,
      archive: expect.any(Function) as unknown,
    });
    places = { ...places, build: 'b' };
    expect((await resolved()).manifest.description).toBe('Fills forms.');
  });

  it.for<[what: string, change: () => void]>([
    ['a file is written', () => writeFileSync(join(folder, 'references/list.md'), 'B list.\n')],
    ['a file comes', () => writeFileSync(join(folder, 'references/new.md'), '')],
    ['a file goes', () => rmSync(join(folder, 'references/list.md'))],
    ['a file gets another name', () => renameSync(join(folder, 'assets/logo.sh'), join(folder, 'assets/other.sh'))],
    [
      'a folder is put in the place of another',
      () => {
        cpSync(join(folder, 'references'), join(places.manifestDir, 'other'), { recursive: true });
        writeFileSync(join(places.manifestDir, 'other/list.md'), 'C list.\n');
        rmSync(join(folder, 'references'), { recursive: true });
        renameSync(join(places.manifestDir, 'other'), join(folder, 'references'));
      },
    ],
    [
      'a file with the times of the old one is put in its place',
      () => {
        const path = join(folder, 'references/list.md');
        const { atime, mtime } = statSync(path);
        writeFileSync(join(places.manifestDir, 'list.md'), 'D list.\n');
        utimesSync(join(places.manifestDir, 'list.md'), atime, mtime);
        renameSync(join(places.manifestDir, 'list.md'), path);
      },
    ],
    [
      'the whole folder is another',
      () => {
        cpSync(folder, join(places.manifestDir, 'other'), { recursive: true });
        writeFileSync(join(places.manifestDir, 'other/scripts/fill.py'), 'print(2)\n');
        rmSync(folder, { recursive: true });
        symlinkSync('../other', folder);
      },
    ],
    ['svc.yaml comes', () => writeFileSync(join(folder, 'svc.yaml'), 'no: artifact\n')],
  ])('gets read again once %s', async ([, change]) => {
    const { sha256 } = await resolved();
    change();
    const [again] = await resolveEach([entry], places);
    expect(again?.kind === 'installed' && again.artifact.sha256 === sha256).toBe(false);
  });

  it('shares a file with the others of its manifest, which one that is gone leaves', async () => {
    const others = Array.from({ length: 3 }, (_, index) => `other-${index}`);
    for (const name of others)
      await writeFiles(join(places.manifestDir, 'skills', name), { 'SKILL.md': `---\ndescription: ${name}.\n---\n` });
    const entries = [entry, ...others.map((name) => ({ ...entry, name, source: `./skills/${name}` }))];
    await resolveEach(entries, places);
    expect(kept()).toHaveLength(1);
    const file = (): string => readFileSync(join(places.userHome, '.svc/cache/skills', kept()[0] ?? ''), 'utf8');
    const directories = (): string[] =>
      (JSON.parse(file()) as { skills: { directory: string }[] }).skills
        .map(({ directory }) => basename(directory))
        .sort();
    expect(directories()).toEqual(['forms', ...others]);
    rmSync(join(places.manifestDir, 'skills/other-1'), { recursive: true });
    writeFileSync(join(folder, 'scripts/fill.py'), 'print(2)\n');
    await resolveEach([entry], places);
    expect(directories()).toEqual(['forms', 'other-0', 'other-2']);
    const before = file();
    await resolveEach(entries.slice(0, 2), places);
    expect(file()).toBe(before);
  });

  it('gets read again where what was kept is cut, another one, or no file', async () => {
    const { sha256 } = await resolved();
    const path = join(places.userHome, '.svc/cache/skills', kept()[0] ?? '');
    for (const text of ['', '{', '[]', '{"build":"a"}', readFileSync(path, 'utf8').slice(0, -3)]) {
      writeFileSync(path, text);
      expect((await resolved()).sha256).toBe(sha256);
    }
    rmSync(path);
    mkdirSync(path);
    expect((await resolved()).sha256).toBe(sha256);
  });

  it('keeps nothing for a program that has no build', async () => {
    places = { ...places, build: undefined } as unknown as StorePlaces;
    await resolved();
    expect(() => kept()).toThrow('ENOENT');
  });

  it('gives its files as they were when it was read, or none', async () => {
    const { skill } = await resolved();
    expect((await skill?.readAll())?.map(({ name }) => name).sort()).toEqual(['SKILL.md', ...(skill?.files ?? [])]);
    writeFileSync(join(folder, 'scripts/fill.py'), 'print(2)\n');
    await expect(skill?.readAll()).rejects.toMatchObject({ code: 'E-ART-006' });
  });

  it('may have links that stay inside', async () => {
    symlinkSync('list.md', join(folder, 'references/same.md'));
    const { skill } = await resolved();
    expect(skill?.files).toContain('references/same.md');
  });

  it.for<[what: string, make: (at: string) => void, code: string]>([
    ['a link that leads out', (at) => symlinkSync('/etc/hostname', join(at, 'out')), 'E-ART-002'],
    ['a link to a folder', (at) => symlinkSync('references', join(at, 'linked')), 'E-ART-002'],
    ['a link to nothing', (at) => symlinkSync('gone', join(at, 'dead')), 'E-ART-002'],
    ['names that differ in case alone', (at) => writeFileSync(join(at, 'references/LIST.md'), ''), 'E-ART-002'],
    ['a large SKILL.md', (at) => truncateSync(join(at, 'SKILL.md'), 1024 * 1024 + 1), 'E-ART-003'],
    [
      'more than 64 MiB',
      (at) => {
        writeFileSync(join(at, 'big'), '');
        truncateSync(join(at, 'big'), 64 * 1024 * 1024);
      },
      'E-ART-003',
    ],
    ['a SKILL.md that is no text', (at) => writeFileSync(join(at, 'SKILL.md'), Buffer.from([0x2d, 0xff])), 'E-ART-004'],
    ['no description', (at) => writeFileSync(join(at, 'SKILL.md'), '---\nname: a\n---\n'), 'E-ART-004'],
    [
      'another version than the entry',
      (at) => writeFileSync(join(at, 'SKILL.md'), '---\ndescription: a\nversion: 2.0.0\n---\n'),
      'E-ART-005',
    ],
    [
      'more than 2,000 files',
      (at) => {
        for (let each = 0; each < 2000; each += 1) writeFileSync(join(at, String(each)), '');
      },
      'E-ART-003',
    ],
    [
      'folders without end',
      (at) => mkdirSync(join(at, ...Array.from({ length: 17 }, () => 'a')), { recursive: true }),
      'E-ART-003',
    ],
  ])('cannot have %s', async ([, make, code]) => {
    make(folder);
    expect(await refusal()).toMatchObject({ code });
  });

  it('gives way to svc.yaml', async () => {
    await writeFiles(folder, { 'svc.yaml': 'name: forms\nversion: 1.0.0\nruntime: skill\n', 'skill.md': 'Ours.' });
    const { skill, skillText } = await resolved();
    expect({ skill, skillText }).toEqual({ skill: undefined, skillText: 'Ours.' });
  });
});
