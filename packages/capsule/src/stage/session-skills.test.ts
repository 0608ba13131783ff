import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { resolveArtifacts } from '@svc/artifacts/store/resolve.ts';
import { type Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { checkSkills, folderSkills } from '../launch/skill-folders.ts';
import { SessionSkills } from './session-skills.ts';
import { limitSkills } from './skill-lists.ts';

let root: string;
let workdir: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'session-skills-'));
  workdir = join(root, 'workdir');
  for (const folder of ['workdir', 'skills/forms/references', '.svc/sessions/ses_1'])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'skills/forms/SKILL.md'), '---\ndescription: Fills forms.\n---\nDo it.\n');
  writeFileSync(join(root, 'skills/forms/references/list.md'), 'A list.\n');
  onTestFinished(() => rmSync(root, { recursive: true }));
});

async function opened(achieved: 'sealed' | 'scoped', scope = '.'): Promise<SessionSkills> {
  const artifacts = await resolved();
  return new SessionSkills({
    skills: folderSkills(artifacts),
    workdir,
    scope,
    sessionDirectory: join(root, '.svc/sessions/ses_1'),
    achieved,
    startsElsewhere: false,
  });
}

/** Returns null where nothing stands in the way of the skills. */
async function checked(): Promise<Diagnostic | null> {
  const artifacts = await resolved();
  return diagnosticOf(() => void checkSkills(artifacts, { shellAllow: [], filesystemScope: null }, workdir));
}

async function resolved(...others: readonly string[]): Promise<readonly InstalledArtifact[]> {
  return await resolveArtifacts({
    manifestDir: root,
    userHome: join(root, 'home'),
    packageRoot: root,
    platform: 'linux-x86_64',
    sources: () => [],
    entries: ['forms', ...others].map((name) => {
      return { name, version: '1.0.0', runtime: 'skill', source: `./skills/${name}` };
    }),
    lock: 'ignore',
  });
}

/** Makes a folder of a skill with this head and an empty script. */
function skill(name: string, head: string, script: string): void {
  mkdirSync(join(root, `skills/${name}/scripts`), { recursive: true });
  writeFileSync(join(root, `skills/${name}/SKILL.md`), `---\ndescription: d\n${head}---\nDo it.\n`);
  writeFileSync(join(root, `skills/${name}/scripts/${script}`), '');
}

describe('the skills of a session', () => {
  it('appear in one line each where scripts lack commands, and where lists name what is not there', async () => {
    skill('forms', 'allowed-tools: WebSearch\n', 'fill.py');
    skill('pdf', 'allowed-tools: WebFetch Bash(sh:*)\n', 'a.sh');
    skill('tone', 'allowed-tools: WebFetch\n', 'b.py');
    skill('slides', 'allowed-tools: Bash(sh:*) Browser\n', 'c.js');
    const artifacts = await resolved('pdf', 'tone', 'slides');
    const started = checkSkills(artifacts, { shellAllow: ['sh', 'bash'], filesystemScope: null }, workdir);
    expect(started.map(({ message }) => message)).toEqual([
      'the skills forms, tone, slides have scripts for node, python3, which capabilities.shell.allow does not list: they cannot be run',
    ]);
    const tools = artifacts.map(({ manifest: { name } }) => ({ name, kind: 'skill' }));
    const { warnings } = limitSkills([...tools, { name: 'sh', kind: 'shell' }], folderSkills(artifacts), () => '');
    expect(warnings.map(({ message }) => message)).toEqual([
      'allowed-tools of the skills forms, tone names nothing that this capsule has, so that no model is offered it',
      'allowed-tools of the skills pdf, slides has words that stand for nothing here: WebFetch, Browser',
    ]);
  });

  it('copy each folder once, for all to read and nobody to write', async () => {
    const skills = await opened('sealed');
    expect(await skills.unfilled()).toBeNull();
    const copy = join(skills.shown.path, 'forms/references/list.md');
    expect(readFileSync(copy, 'utf8')).toBe('A list.\n');
    expect(lstatSync(copy).mode & 0o777).toBe(0o444);
    writeFileSync(join(root, 'skills/forms/references/list.md'), 'Another.\n');
    expect(await skills.unfilled()).toBeNull();
    expect(readFileSync(copy, 'utf8')).toBe('A list.\n');
    skills.close();
    expect(existsSync(skills.shown.path)).toBe(false);
  });

  it('refuse a folder that has changed since the session began, until it is back', async () => {
    const skills = await opened('sealed');
    writeFileSync(join(root, 'skills/forms/references/list.md'), 'Another.\n');
    expect(await skills.unfilled()).toMatchObject({ code: 'E-ART-006' });
    expect(existsSync(join(skills.shown.path, 'forms'))).toBe(false);
    writeFileSync(join(root, 'skills/forms/references/list.md'), 'A list.\n');
    expect(await skills.unfilled()).toBeNull();
  });

  it('have a directory to be mounted over in sealed, and a link elsewhere, which is gone afterwards', async () => {
    const sealed = await opened('sealed');
    sealed.prepare();
    sealed.prepare();
    expect(lstatSync(join(workdir, '.skills')).isDirectory()).toBe(true);
    const scoped = await opened('scoped', 'part');
    scoped.prepare();
    scoped.prepare();
    expect(lstatSync(join(workdir, 'part/.skills')).isSymbolicLink()).toBe(true);
    scoped.close();
    expect(existsSync(join(workdir, 'part'))).toBe(true);
    expect(lstatSync(join(workdir, 'part/.skills'), { throwIfNoEntry: false })).toBeUndefined();
  });

  it('take the place of a link that an earlier session has left, and of no other', async () => {
    const skills = await opened('scoped');
    const place = join(workdir, '.skills');
    symlinkSync(join(root, '.svc/sessions/ses_0/skills'), place);
    expect(await checked()).toBeNull();
    expect(() => skills.prepare()).not.toThrow();
    rmSync(place);
    symlinkSync('/etc', place);
    expect(await checked()).toMatchObject({ code: 'E-RUN-210' });
    expect(() => skills.prepare()).toThrow('something else has its name');
  });

  it('follow nothing that the agent has put in the way', async () => {
    symlinkSync(root, join(workdir, 'part'));
    const skills = await opened('scoped', 'part');
    expect(() => skills.prepare()).toThrow('is not a directory of the workdir');
    const sealed = await opened('sealed', 'part');
    expect(() => sealed.prepare()).toThrow('a link or a file is in its place');
    expect(existsSync(join(root, '.skills'))).toBe(false);
  });
});
