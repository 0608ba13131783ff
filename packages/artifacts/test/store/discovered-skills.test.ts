import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { loadCapsuleManifest } from '../../src/manifest/load.ts';
import { discoverSkills, discoveredFolder, skillsOn, withDiscovered } from '../../src/store/discovered-skills.ts';
import type { LockedArtifact } from '../../src/store/lockfile.ts';
import { lockedOf, resolveArtifacts, resolveEach } from '../../src/store/resolve.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { codesOf, emptyPlaces } from './artifacts.ts';

function shelf(): string {
  const directory = mkdtempSync(join(tmpdir(), 'shelf-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

function put(directory: string, name: string, text: string): void {
  mkdirSync(join(directory, name));
  writeFileSync(join(directory, name, 'SKILL.md'), text);
}

describe('a shelf of skills', () => {
  it('gives its skills in the order of their names', () => {
    const directory = shelf();
    for (const name of ['b', 'c', 'a']) put(directory, name, '');
    expect(skillsOn([{ directory: join(directory, 'none'), within: null }])).toEqual([]);
    expect(skillsOn([{ directory, within: null }])).toEqual(['a', 'b', 'c'].map((name) => join(directory, name)));
  });

  it('says of each that is left out what can be done', async () => {
    const directory = shelf();
    put(directory, 'broken', 'no head');
    const { skills, warnings } = await discoverSkills([{ directory, within: null }], new Set(), emptyPlaces());
    expect(skills).toEqual([]);
    expect(warnings).toMatchObject([{ code: 'W-RUN-211', hint: expect.stringContaining('svc info ./<folder>') }]);
  });
});

const lists = `artifacts: [{ name: listed, version: 1.0.0, source: ./listed }]
capabilities: { shell: { allow: [cat] } }`;

/** A project that names two folders, and where its artifacts lie. */
function project(): { readonly at: StorePlaces; readonly first: string; readonly second: string } {
  const at = emptyPlaces();
  const [first, second] = [join(at.manifestDir, '.agents/skills'), join(at.manifestDir, '.claude/skills')];
  for (const each of [first, second]) mkdirSync(each, { recursive: true });
  return { at, first, second };
}

function skill(text: string, version = ''): string {
  return `---\ndescription: d\n${version === '' ? '' : `metadata: { version: ${version} }\n`}---\n${text}\n`;
}

async function found(at: StorePlaces, lock?: readonly LockedArtifact[]): ReturnType<typeof withDiscovered> {
  const text = `name: a\nversion: 1.0.0\nskills: { discover: [.agents/skills, .claude/skills] }\n${lists}
inference: { transport: process, command: model }\n`;
  const loaded = loadCapsuleManifest({ file: join(at.manifestDir, 'svc.yaml'), text, env: {} });
  return await withDiscovered(loaded, at, lock);
}

describe('skills.discover', () => {
  it('stands for entries behind those of the manifest, which have the version of their file', async () => {
    const { at, first, second } = project();
    put(first, 'Fill_Forms', skill('Fill.', '2.1.0'));
    put(second, 'review', skill('Look.'));
    mkdirSync(join(second, 'notes'));
    const { loaded, warnings } = await found(at);
    expect(warnings).toEqual([]);
    expect(loaded.manifest.artifacts.slice(1)).toEqual([
      {
        name: 'fill-forms',
        version: '2.1.0',
        runtime: 'skill',
        source: './.agents/skills/Fill_Forms',
        discovered: true,
      },
      { name: 'review', version: '0.0.0', runtime: 'skill', source: './.claude/skills/review', discovered: true },
    ]);
    expect(discoveredFolder(loaded, 'fill-forms')).toBe(join(first, 'Fill_Forms'));
    expect(discoveredFolder(loaded, 'notes')).toBeNull();
  });

  it('leaves out what is no good skill, has a name that is taken, or is one of two of a name, and takes the rest', async () => {
    const { at, first, second } = project();
    for (const name of ['cat', 'listed', 'share-file', 'good', 'twice', 'same']) put(first, name, skill('One.'));
    put(first, 'broken', 'no head');
    put(first, '___', skill('Nameless.'));
    put(second, 'twice', skill('Two.'));
    put(second, 'same', skill('One.'));
    put(at.userHome.replace(/home$/, ''), 'away', skill('Elsewhere.'));
    symlinkSync(join(at.userHome, '../away'), join(second, 'away'));
    const { loaded, warnings } = await found(at);
    expect(loaded.manifest.artifacts.map(({ name }) => name)).toEqual(['listed', 'good', 'same']);
    expect(warnings.map(({ code, message }) => `${code} ${message.replaceAll(at.manifestDir, '')}`)).toEqual([
      'W-RUN-211 the skill in "/.agents/skills/___" is left out: its name has no letter or digit',
      'W-RUN-211 the skill in "/.agents/skills/broken" is left out: /.agents/skills/broken/SKILL.md does not begin with a head between two lines "---"',
      'W-RUN-211 the skill in "/.agents/skills/cat" is left out: cat is the name of something else in this capsule',
      'W-RUN-211 the skill in "/.agents/skills/listed" is left out: listed is the name of something else in this capsule',
      'W-RUN-211 the skill in "/.agents/skills/share-file" is left out: share-file is the name of something else in this capsule',
      'W-RUN-211 2 more skills are left out: "/.claude/skills/away", "/.claude/skills/twice"',
    ]);
  });

  it('says why of the first five alone, however many are left out', async () => {
    const { at, first, second } = project();
    const names = Array.from({ length: 1000 }, (_, at) => `bad${1000 + at}`);
    for (const name of names) for (const each of [first, second]) put(each, name, 'no head');
    const { warnings } = await found(at);
    expect(warnings).toHaveLength(6);
    expect(warnings[5]?.message).toMatch(/^1995 more skills are left out: "\S+bad1005",( "\S+",?){9} and 1985 more$/);
  });

  it('says of a link that leads out, and of two of one name, which they are', async () => {
    const { at, first, second } = project();
    put(first, 'twice', skill('One.'));
    put(second, 'twice', skill('Two.'));
    put(at.userHome.replace(/home$/, ''), 'away', skill('Elsewhere.'));
    symlinkSync(join(at.userHome, '../away'), join(second, 'away'));
    const { warnings } = await found(at);
    expect(warnings.map(({ message }) => message.replaceAll(at.manifestDir, ''))).toEqual([
      'the skill in "/.claude/skills/away" is left out: a link to it leads out of the folder',
      'the skill in "/.claude/skills/twice" is left out: /.agents/skills/twice has the same name, and is left out too',
    ]);
  });

  it('gives each entry what was found with it, so that a start looks at a skill once', async () => {
    const { at, first } = project();
    put(first, 'forms', skill('Fill.'));
    const entries = (await found(at)).loaded.manifest.artifacts.slice(1);
    rmSync(join(first, 'forms'), { recursive: true });
    expect(await resolveEach(entries, at)).toMatchObject([
      { kind: 'installed', artifact: { skill: { files: [] }, skillText: null } },
    ]);
    expect((await resolveEach(entries, at)).map(({ kind }) => kind)).toEqual(['failed']);
  });

  it('takes at most 128', async () => {
    const { at, first } = project();
    for (let index = 0; index < 130; index += 1) put(first, `s${1000 + index}`, skill('One.'));
    const { loaded, warnings } = await found(at);
    expect(loaded.manifest.artifacts).toHaveLength(1 + 128);
    expect(warnings.map(({ message }) => message.replace(/^.* is/, 'is'))).toEqual([
      'is left out: there are 128 before it',
      'is left out: there are 128 before it',
    ]);
  });

  it('takes of those that the lock lacks none, reads nothing of them, and names ten in one warning', async () => {
    const { at, first } = project();
    put(first, 'forms', skill('Fill.', '2.1.0'));
    const locked = async (): Promise<readonly LockedArtifact[]> => {
      const { loaded } = await found(at);
      return lockedOf(await resolveArtifacts({ ...at, entries: loaded.manifest.artifacts.slice(1), lock: 'ignore' }));
    };
    const lock = await locked();
    for (let index = 0; index < 12; index += 1) put(first, `n${index}`, index === 0 ? 'no head' : skill('New.'));
    put(first, '___', skill('Nameless.'));
    const { loaded, warnings } = await found(at, lock);
    expect(loaded.manifest.artifacts.map(({ name }) => name)).toEqual(['listed', 'forms']);
    expect(warnings).toMatchObject([
      {
        code: 'W-RUN-211',
        message:
          'skills are left out that svc.lock does not record: "___", n0, n1, n10, n11, n2, n3, n4, n5, n6 and 3 more',
        hint: expect.stringMatching(/^svc install --manifest \/\S+\/svc\.yaml records them, or says why not/),
      },
    ]);
    expect((await found(at, [])).loaded.manifest.artifacts).toHaveLength(1);
    writeFileSync(join(first, 'forms/SKILL.md'), skill('Obey.', '2.2.0'));
    const changed = await found(at, lock);
    expect(changed.loaded.manifest.artifacts[1]).toMatchObject({ name: 'forms', version: '2.2.0' });
  });

  it('takes no artifact of svc.yaml, which no lock holds, that is put in the place of a skill', async () => {
    const { at, first } = project();
    put(first, 'forms', skill('Fill.'));
    const { loaded } = await found(at);
    const entries = loaded.manifest.artifacts.slice(1);
    expect((await resolveEach(entries, at)).map(({ kind }) => kind)).toEqual(['installed']);
    writeFileSync(join(first, 'forms/svc.yaml'), 'name: forms\nversion: 0.0.0\nruntime: skill\n');
    writeFileSync(join(first, 'forms/skill.md'), 'Obey.');
    expect(await codesOf(resolveArtifacts({ ...at, entries, lock: 'ignore' }))).toEqual(['E-ART-006']);
    expect((await found(at)).loaded.manifest.artifacts).toHaveLength(1);
  });
});
