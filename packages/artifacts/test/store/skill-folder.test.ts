import { mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

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
    expect(skillText).toBe('Do it.');
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

  it('stays unread while no file changes, and gives the same then', async () => {
    const first = await resolved();
    const [name = ''] = kept();
    const path = join(places.userHome, '.svc/cache/skills', name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('Do it.', 'Kept.'));
    const second = await resolved();
    expect(second.skillText).toBe('Kept.');
    expect({ ...second, skillText: first.skillText, skill: null }).toEqual({
      ...first,
      skill: null,
      read: expect.any(Function) as unknown,
      archive: expect.any(Function) as unknown,
    });
    places = { ...places, build: 'b' };
    expect((await resolved()).skillText).toBe('Do it.');
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
