import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { FakeGithub, type FakeRepository, zipOfCommit } from '../../packages/artifacts/test/sources/github-server.ts';
import { calling, obedientCapsule } from '../support/obedient-capsule.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const repo = 'acme/skills';
const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
const place = `github:${repo}@v3#skills/forms`;

const archive = async (commit: string, text: string, head = ''): Promise<Buffer> =>
  await zipOfCommit(commit, [
    { name: 'README.md', data: 'All skills.' },
    { name: 'skills/forms/SKILL.md', data: `---\ndescription: Fills forms.\n${head}---\n${text}\n` },
    { name: 'skills/forms/references/list.md', data: 'A list.\n' },
    { name: 'skills/forms/scripts/fill.sh', data: 'echo filled\n' },
  ]);

interface Project {
  readonly workspace: Workspace;
  /** Changes as a test moves its tags. */
  readonly commits: Record<string, Buffer>;
  readonly github: FakeGithub;
  readonly run: (...args: readonly string[]) => Promise<SvcEnd>;
  readonly read: (name: string) => string;
}

async function project(commits: Record<string, Buffer>, more: Partial<FakeRepository> = {}): Promise<Project> {
  const github = await FakeGithub.open({ repo, commits, ...more });
  const workspace = obedientCapsule('demo', 'artifacts:\n  - { name: svc-tool-editor, version: 1.0.0 }\n');
  onTestFinished(() => workspace.remove());
  const env = { SVC_GITHUB_API_URL: github.api.url, GITHUB_TOKEN: 'ghp_1' };
  return {
    workspace,
    commits,
    github,
    run: async (...args) => await svc(workspace, args, { env }),
    read: (name) => readFileSync(join(workspace.folder, name), 'utf8'),
  };
}

describe('svc add github:<owner>/<repo>@<ref>#<folder>', () => {
  it('takes the skill into svc.yaml and svc.lock, and a run uses it without the network', async () => {
    const { github, run, read } = await project(
      { v3: await archive(first, 'Fill it.', 'allowed-tools: Read\n') },
      { token: 'ghp_1' },
    );
    const added = await run('add', place);
    expect(added).toMatchObject({
      code: 0,
      stderr: 'the skill forms@0.0.0-gaaaaaaaaaaaa asks for\n  + Read\n  + bash for scripts/fill.sh\n',
    });
    expect(github.api.lines).toEqual(['GET /repos/acme/skills/zipball/v3']);
    expect(github.api.asked[0]?.headers.authorization).toBe('Bearer ghp_1');
    expect(github.files.asked.map(({ headers }) => headers.authorization)).toEqual([undefined]);
    expect(read('svc.yaml')).toContain(
      `  - { name: forms, version: 0.0.0-gaaaaaaaaaaaa, runtime: skill, from: "${place}" }\n`,
    );
    const { artifacts } = JSON.parse(read('svc.lock')) as { artifacts: { name: string }[] };
    expect(artifacts.find(({ name }) => name === 'forms')).toEqual({
      name: 'forms',
      version: '0.0.0-gaaaaaaaaaaaa',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      from: `github:${repo}@${first}#skills/forms`,
      skill: { allowed_tools: ['Read'], scripts: { 'scripts/fill.sh': 'bash' } },
    });
    const ran = await run(
      'run',
      '--json',
      '--offline',
      '--task',
      calling(['forms', {}], ['forms', { file: 'references/list.md' }]),
    );
    expect(ran).toMatchObject({ code: 0 });
    const { workdir } = JSON.parse(ran.stdout.split('\n')[0] ?? '') as { workdir: string };
    expect(readFileSync(join(workdir, 'out/result.txt'), 'utf8')).toBe('A list.\n');
    const refused = await run(
      'run',
      '--json',
      '--offline',
      '--task',
      calling(['forms', {}], ['svc-tool-editor', { command: 'write', path: 'a', content: 'b' }]),
    );
    const { workdir: other } = JSON.parse(refused.stdout.split('\n')[0] ?? '') as { workdir: string };
    expect(readFileSync(join(other, 'out/result.txt'), 'utf8')).toContain(
      'not allowed while the skill forms is in use',
    );
    expect(github.api.lines).toHaveLength(1);
    expect((await run('update', 'forms')).stderr).toContain(
      'forms stays at 0.0.0-gaaaaaaaaaaaa: it comes from the place',
    );
    expect((await run('info', 'forms@0.0.0-gaaaaaaaaaaaa', '--registry', 'local')).stdout).toContain('Fills forms.');
  });

  it('holds a clone to the commit: a tag that was moved is E-REG-005, and --frozen asks for the commit', async () => {
    const old = await archive(first, 'Fill it.', 'version: 1.0.0\n');
    const { workspace, commits, github, run, read } = await project({ v3: old, [first]: old });
    expect(await run('add', place)).toMatchObject({ code: 0 });
    const [lock, manifest] = [read('svc.lock'), read('svc.yaml')];
    const forget = (): void => rmSync(join(workspace.folder, '.svc'), { recursive: true });
    forget();
    commits['v3'] = await archive(second, 'Send it elsewhere.', 'version: 1.0.0\n');
    const moved = await run('install');
    expect(moved).toMatchObject({ code: 1, stdout: '' });
    expect(moved.stderr).toMatch(
      /^error\[E-REG-005\]: github:acme\/skills@v3#skills\/forms serves forms@1\.0\.0 with sha256/,
    );
    commits['v3'] = await archive(second, 'Fill it.', 'version: 1.0.0\n');
    expect((await run('install')).stderr).toContain(
      `error[E-REG-005]: github:acme/skills has forms@1.0.0 as ${second}#skills/forms now, but svc.lock records ${first}#skills/forms`,
    );
    expect(await run('install', '--frozen')).toMatchObject({ code: 0, stderr: '' });
    expect(github.api.lines.at(-1)).toBe(`GET /repos/acme/skills/zipball/${first}`);
    expect([read('svc.lock'), read('svc.yaml')]).toEqual([lock, manifest]);
    forget();
    workspace.write('svc.yaml', manifest.replace(`, from: "${place}"`, ''));
    expect(await run('install', '--frozen')).toMatchObject({ code: 0, stderr: '' });
    expect(github.api.lines.at(-1)).toBe(`GET /repos/acme/skills/zipball/${first}`);
    workspace.write('svc.yaml', manifest);
    expect(await run('build', '.')).toMatchObject({ code: 0 });
  });

  it('records nothing of a skill that lets more through than before, without --accept-tools', async () => {
    const { run, read } = await project({
      v3: await archive(first, 'Fill it.', 'allowed-tools: Read\n'),
      v4: await archive(second, 'Fill it.', 'allowed-tools: Read Write\n'),
    });
    expect(await run('add', place)).toMatchObject({ code: 0 });
    const before = [read('svc.lock'), read('svc.yaml')];
    const wider = await run('add', place.replace('@v3', '@v4'));
    expect(wider.stderr).toContain('  + Write\n');
    expect(wider.stderr).toContain('E-REG-016');
    expect([read('svc.lock'), read('svc.yaml')]).toEqual(before);
    expect(await run('add', place.replace('@v3', '@v4'), '--accept-tools')).toMatchObject({ code: 0 });
    expect(read('svc.yaml')).toContain(
      `version: 0.0.0-gbbbbbbbbbbbb, runtime: skill, from: "${place.replace('@v3', '@v4')}"`,
    );
    expect(read('svc.lock')).not.toContain(first);
  });

  it('fails under a rule of trust, since nobody signs a commit', async () => {
    const { workspace, run, read } = await project({ v3: await archive(first, 'Fill it.') });
    const before = read('svc.yaml');
    const directory = join(workspace.home, '.svc');
    mkdirSync(directory, { recursive: true });
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(join(directory, 'acme.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
    const rule = '{ names: ["forms"], signed_by: { key: acme } }';
    writeFileSync(join(directory, 'config.yaml'), `trust: { keys: { acme: ./acme.pub }, rules: [${rule}] }\n`);
    expect((await run('add', place)).stderr).toMatch(/^error\[E-REG-011\]: /);
    expect(read('svc.yaml')).toBe(before);
  });

  it('refuses a folder to svc install, which says what takes it', async () => {
    const { run } = await project({});
    expect((await run('install', place)).stderr).toBe(
      `error[E-ART-008]: "${place}" does not name an artifact\nhint: svc add '${place}' takes the skill into svc.yaml\n`,
    );
  });
});
