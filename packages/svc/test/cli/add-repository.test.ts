import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';

import { beforeEach, describe, expect, it } from 'vitest';

import { readLock } from '@svc/artifacts/store/lockfile.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { FakeGithub, zipOfCommit } from '../../../artifacts/test/sources/github-server.ts';
import { temporaryDirectory, writeFiles } from '../../../artifacts/test/store/artifacts.ts';
import { writtenText } from '../../../../test/support/written-text.ts';
import { addCommand } from '../../src/artifacts/add.ts';
import { removeCommand } from '../../src/artifacts/remove.ts';

const manifest = 'name: worker\nversion: 1.0.0\ninference: { transport: process, command: [cat] }\nartifacts: []\n';
const repo = 'acme/skills';
const place = `github:${repo}@v3`;
const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
const skill = (description: string, head = '', text = 'Do it.'): string =>
  `---\ndescription: ${description}\n${head}---\n${text}\n`;

let root: string;
beforeEach(async () => {
  root = temporaryDirectory();
  await writeFiles(join(root, 'project'), { 'svc.yaml': manifest });
});

interface Added {
  readonly stdout: string;
  readonly faults: readonly string[];
}

async function add(github: FakeGithub, ...args: readonly string[]): Promise<Added> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const out = { stdout: new Output(() => stdout), stderr: new Output(() => stderr, null) };
  const env = { SVC_GITHUB_API_URL: github.api.url };
  const context = { cwd: join(root, 'project'), home: join(root, 'home'), env, ...out };
  const faults: string[] = [];
  try {
    await addCommand(context)
      .exitOverride()
      .parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof Diagnostic || error instanceof DiagnosticList)) throw error;
    const all = error instanceof Diagnostic ? [error] : error.diagnostics;
    for (const { code, message, hint = '' } of all) faults.push(`${code} ${message} | ${hint}`);
  }
  return { stdout: writtenText(stdout), faults };
}

const listed = (): string => readFileSync(join(root, 'project/svc.yaml'), 'utf8');
const locked = (): readonly string[] =>
  (readLock(join(root, 'project')) ?? []).map(({ name, version, from = '' }) => `${name}@${version} ${from}`);

/** An archive that git itself has made, and its commit. */
async function gitArchive(files: Readonly<Record<string, string>>): Promise<{ zip: Buffer; commit: string }> {
  const folder = temporaryDirectory();
  await writeFiles(folder, files);
  const git = (...args: string[]): Buffer =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
    });
  git('init', '-q');
  git('add', '.');
  git('commit', '-q', '-m', 'Begin');
  const zip = git('archive', '--format=zip', '--prefix=acme-skills-1234567/', 'HEAD');
  return { zip, commit: git('rev-parse', 'HEAD').toString().trim() };
}

describe('svc add of a GitHub repository', () => {
  it('shows its skills and writes nothing, and with --all lists them with one download', async () => {
    const { zip, commit } = await gitArchive({
      'README.md': 'All skills.',
      'skills/pdf/SKILL.md': skill('Fills forms.', 'name: PDF_Forms\n'),
      'skills/pdf/references/list.md': 'A list.\n',
      'other/tone/SKILL.md': skill('How we write.', 'version: 2.1.0\n'),
      'skills/ours/SKILL.md': skill('Ours.'),
      'skills/ours/svc.yaml': 'name: ours\n',
      'node_modules/x/SKILL.md': skill('Of a package.'),
    });
    const github = await FakeGithub.open({ repo, commits: { v3: zip } });
    expect(await add(github, place)).toEqual({
      stdout:
        `tone in other/tone: How we write.\n  svc add '${place}#other/tone'\n` +
        `pdf-forms in skills/pdf: Fills forms.\n  svc add '${place}#skills/pdf'\n`,
      faults: [
        `E-ART-008 ${place} is no release with artifacts, but has 2 skills: nothing was added | svc add '${place}#other/tone' adds one; svc add ${place} --all adds all`,
      ],
    });
    expect([listed(), locked()]).toEqual([manifest, []]);
    const before = github.api.lines.length;
    expect(await add(github, place, '--all')).toMatchObject({ faults: [] });
    expect(github.api.lines.slice(before)).toEqual(['GET /repos/acme/skills/zipball/v3']);
    const version = `0.0.0-g${commit.slice(0, 12)}`;
    expect(listed()).toContain(
      `artifacts: [{ name: tone, version: 2.1.0, runtime: skill, from: "${place}#other/tone" }, { name: pdf-forms, version: ${version}, runtime: skill, from: "${place}#skills/pdf" }]\n`,
    );
    expect(locked()).toEqual([
      `pdf-forms@${version} github:${repo}@${commit}#skills/pdf`,
      `tone@2.1.0 github:${repo}@${commit}#other/tone`,
    ]);
  });

  it('says what is wrong with a skill that it shows, and lists none with --all', async () => {
    const files = [
      { name: 'a/SKILL.md', data: skill('Good.') },
      { name: 'b/SKILL.md', data: 'no head' },
      { name: 'c d/SKILL.md', data: skill('Has a blank.') },
    ];
    const github = await FakeGithub.open({ repo, commits: { v3: await zipOfCommit(first, files) } });
    const { stdout } = await add(github, place);
    expect(stdout).toContain(
      `a in a: Good.\n  svc add '${place}#a'\nb: ${place}#b/SKILL.md does not begin with a head`,
    );
    expect(stdout).toContain('c d: the path "c d" cannot be written behind "#"\n');
    expect((await add(github, place, '--all')).faults.map((each) => each.slice(0, 33))).toEqual([
      `E-ART-004 ${place}#b`,
      'E-ART-008 the path "c d" cannot b',
    ]);
    expect([listed(), locked()]).toEqual([manifest, []]);
  });

  it('refuses names that meet, and moves entries of its own to another tag', async () => {
    const [zip, twice] = [
      await zipOfCommit(first, [{ name: 'skills/a/SKILL.md', data: skill('One.') }]),
      await zipOfCommit(second, [
        { name: 'skills/a/SKILL.md', data: skill('One, newer.') },
        { name: 'other/A/SKILL.md', data: skill('Another.') },
      ]),
    ];
    const commits: Record<string, Buffer> = { v3: zip, v4: zip };
    const github = await FakeGithub.open({ repo, commits });
    expect(await add(github, place, '--all')).toMatchObject({ faults: [] });
    commits['v4'] = twice;
    const before = [listed(), locked()];
    expect((await add(github, `github:${repo}@v4`, '--all')).faults).toEqual([
      `E-ART-008 github:${repo}@v4#skills/a would be listed as a, a name that other/A has already | nothing was written: svc add each of the other skills by its folder`,
    ]);
    expect([listed(), locked()]).toEqual(before);
    commits['v4'] = await zipOfCommit(second, [{ name: 'skills/a/SKILL.md', data: skill('One, newer.') }]);
    expect(await add(github, `github:${repo}@v4`, '--all')).toMatchObject({ faults: [] });
    expect(locked()).toEqual([`a@0.0.0-gbbbbbbbbbbbb github:${repo}@${second}#skills/a`]);
    await writeFiles(join(root, 'project'), {
      'svc.yaml': manifest.replace('[]', '[{ name: a, version: 1.0.0, runtime: skill, source: ./a }]'),
    });
    expect((await add(github, place, '--all')).faults.join()).toContain('a name that svc.yaml has already');
  });

  it('says what it said of a release where it has no skills either, or no such tag', async () => {
    const commits = { v3: await zipOfCommit(first, [{ name: 'README.md', data: 'No skills.' }]) };
    const github = await FakeGithub.open({ repo, commits });
    for (const ref of ['v3', 'v9', '..', 'a/../b']) {
      const [fault] = (await add(github, `github:${repo}@${ref}`)).faults;
      expect(fault).toContain(`E-REG-001 github:${repo} has no release tagged ${ref} | `);
    }
    const { faults } = await add(github, place, '--all');
    expect(faults.join()).toContain(`E-ART-008 ${place} has no folder with SKILL.md`);
    expect((await add(github, `github:${repo}@..`, '--all')).faults.join()).toContain('E-ART-008');
    expect(github.api.lines.filter((line) => line.includes('..') && !line.includes('/tags/'))).toEqual([]);
  });

  it('says what it lacks without a tag', async () => {
    const github = await FakeGithub.open({ repo });
    for (const what of [`github:${repo}`, `github:${repo}#skills/pdf`, 'github:acme@v3', `${place}#../x`])
      expect((await add(github, what)).faults).toEqual([
        `E-ART-008 "${what}" does not name an artifact | write github:<owner>/<repo>@<tag>, with a branch or a commit in place of the tag for skills, and maybe #<folder> behind it`,
      ]);
    expect(github.api.lines).toEqual([]);
  });

  it('bounds how many skills it takes', async () => {
    const files = Array.from({ length: 129 }, (_, index) => ({ name: `s/${index}/SKILL.md`, data: skill('One.') }));
    const github = await FakeGithub.open({ repo, commits: { v3: await zipOfCommit(first, files) } });
    const { stdout, faults } = await add(github, place);
    expect(stdout).toMatch(/and 1 more\n$/);
    expect(faults.join()).toContain('but has 129 skills');
    expect((await add(github, place, '--all')).faults).toEqual([
      `E-ART-003 ${place} has 129 skills, and a capsule has at most 128 | svc add one by one, such as ${place}#s/0`,
    ]);
  });
});

describe('svc add of a skill at another tag', () => {
  const at = `${place}#skills/a`;
  const newer = `github:${repo}@v4#skills/a`;
  const zip = async (commit: string, text: string): Promise<Buffer> =>
    await zipOfCommit(commit, [{ name: 'skills/a/SKILL.md', data: skill('One.', 'version: 1.0.0\n', text) }]);

  it('takes the same version where its files are the same', async () => {
    const commits: Record<string, Buffer> = { v3: await zip(first, 'Do it.'), v4: await zip(second, 'Do it.') };
    const github = await FakeGithub.open({ repo, commits });
    expect(await add(github, at)).toMatchObject({ faults: [] });
    expect(await add(github, newer)).toMatchObject({ faults: [] });
    expect(listed()).toContain(`{ name: a, version: 1.0.0, runtime: skill, from: "${newer}" }`);
    expect(locked()).toEqual([`a@1.0.0 github:${repo}@${second}#skills/a`]);
    commits['v4'] = await zip('c'.repeat(40), 'Do it.');
    expect((await add(github, newer)).faults.join()).toContain('E-REG-005');
  });

  it('says how other files of the same version are taken, which works', async () => {
    const github = await FakeGithub.open({
      repo,
      commits: { v3: await zip(first, 'Do it.'), v4: await zip(second, 'Do it again.') },
    });
    expect(await add(github, at)).toMatchObject({ faults: [] });
    const before = [listed(), locked()];
    expect((await add(github, newer)).faults).toEqual([
      `E-REG-005 ${newer} has other files than ${at}, and the same version, 1.0.0 | svc remove a, then svc add '${newer}', takes them; better, its author gives SKILL.md a new version`,
    ]);
    expect([listed(), locked()]).toEqual(before);
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const out = { stdout: new Output(() => stdout), stderr: new Output(() => stderr, null) };
    const context = { cwd: join(root, 'project'), home: join(root, 'home'), env: {}, ...out };
    await removeCommand(context).parseAsync(['a'], { from: 'user' });
    expect(await add(github, newer)).toMatchObject({ faults: [] });
    expect(locked()).toEqual([`a@1.0.0 github:${repo}@${second}#skills/a`]);
  });
});
