import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { type FakeAsset, FakeGithub, type FakeReleases } from '../../packages/artifacts/test/sources/github-server.ts';
import { json, StandInServer } from '../../packages/artifacts/test/sources/stand-in-server.ts';
import { archiveBytes, manifestText, skillFiles } from '../../packages/artifacts/test/store/artifacts.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const here = `${process.platform}-${process.arch === 'x64' ? 'x86_64' : 'aarch64'}`;
const repo = 'acme/tools';

let workspace: Workspace;
beforeEach(() => {
  workspace = capsule({ manifest: 'artifacts: [{ name: style, version: 1.0.0, runtime: skill }]\n' });
});

const store = (): string => join(workspace.folder, '.svc', 'artifacts');

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

async function skillAsset(file: string, text: string, name = 'style'): Promise<FakeAsset> {
  const bytes = await archiveBytes(skillFiles(name, text));
  return { name: file, bytes, digest: digestOf(bytes) };
}

function textOf(name: string, variant = ''): string {
  return readFileSync(join(store(), name, '1.0.0', `${name}-1.0.0${variant}.zip`), 'latin1');
}

async function install(github: FakeGithub, what: string, env: Readonly<Record<string, string>> = {}): Promise<SvcEnd> {
  return await svc(workspace, ['install', what, '--json'], { env: { SVC_GITHUB_API_URL: github.api.url, ...env } });
}

function configure(extra = ''): void {
  const directory = join(workspace.home, '.svc');
  mkdirSync(directory, { recursive: true });
  const source = `{ name: ours, type: github, repo: ${repo}${extra} }`;
  writeFileSync(join(directory, 'config.yaml'), `registry:\n  default: ours\n  sources:\n    - ${source}\n`);
}

describe('svc install github:<owner>/<repo>@<tag>', () => {
  it('installs every archive of the release, without configuration [D1-CLI-15]', async () => {
    const github = await FakeGithub.open({
      repo,
      releases: {
        v7: [
          await skillAsset('style-1.0.0.zip', 'Be generic.'),
          await skillAsset(`style-1.0.0-${here}.zip`, 'Be local.'),
          await skillAsset('tone-1.0.0.zip', 'Be calm.', 'tone'),
          { name: 'checksums.txt', bytes: Buffer.from('none') },
        ],
      },
    });
    const { code, stdout, stderr } = await install(github, `github:${repo}@v7`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toMatchObject([
      { name: 'style', version: '1.0.0', origin: `github:${repo}`, platform: here },
      { name: 'tone', version: '1.0.0', origin: `github:${repo}`, platform: null },
    ]);
    expect(textOf('style', `-${here}`)).toContain('Be local.');
    expect(textOf('tone')).toContain('Be calm.');
    expect(JSON.parse(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8'))).toMatchObject({
      artifacts: [{ name: 'style', platform: here }, { name: 'svc-driver-script' }],
    });
  });

  it('shows the token to the API and not to where the files lie', async () => {
    const releases = { v7: [await skillAsset('style-1.0.0.zip', 'Be private.')] };
    const github = await FakeGithub.open({ repo, releases, token: 'ghp_1' });
    const { code } = await install(github, `github:${repo}@v7`, { GITHUB_TOKEN: 'ghp_1' });
    expect(code).toBe(0);
    expect(github.api.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer ghp_1', 'Bearer ghp_1']);
    expect(github.files.asked.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  it('shows the token of a source of the same repository, where one is configured', async () => {
    configure(', token: "${OURS}"');
    const releases = { v7: [await skillAsset('style-1.0.0.zip', 'Be private.')] };
    const github = await FakeGithub.open({ repo, releases, token: 'ghp_3' });
    expect(await install(github, `github:${repo}@v7`, { OURS: 'ghp_3' })).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    [{}, 'E-REG-001', 'github:acme/tools has no release tagged v7', /the repository is private, set GITHUB_TOKEN$/],
    [
      { GITHUB_TOKEN: 'wrong' },
      'E-IO-003',
      'github:acme/tools does not list its releases (401): Bad credentials',
      /^check that GITHUB_TOKEN is a token for http:\S+ that may read the repository$/,
    ],
  ])('fails for a private repository with %j with advice', async (env, code, message, hint) => {
    const releases = { v7: [await skillAsset('style-1.0.0.zip', 'Be private.')] };
    const github = await FakeGithub.open({ repo, releases, token: 'ghp_1' });
    const end = await install(github, `github:${repo}@v7`, env);
    expect(end).toMatchObject({ code: 1, stdout: '' });
    const [first, second] = end.stderr.split('\n');
    expect(first).toBe(`error[${code}]: ${message}`);
    expect(second?.replace('hint: ', '')).toMatch(hint);
    expect(existsSync(store())).toBe(false);
  });

  it('without such a release, or one without archives, is E-REG-001', async () => {
    const github = await FakeGithub.open({ repo, releases: { v1: [], v2: [] } });
    expect((await install(github, `github:${repo}@v9`)).stderr).toMatch(
      /^error\[E-REG-001\]: github:acme\/tools has no release tagged v9\n/,
    );
    expect((await install(github, `github:${repo}@v1`)).stderr).toBe(
      'error[E-REG-001]: the release v1 of github:acme/tools has no .zip file\n',
    );
  });

  it('does not ask for a file that is larger than an archive may be', async () => {
    const asset = { ...(await skillAsset('style-1.0.0.zip', 'Be huge.')), size: 600 * 1024 * 1024 };
    const github = await FakeGithub.open({ repo, releases: { v7: [asset] } });
    const { code, stderr } = await install(github, `github:${repo}@v7`);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'error[E-ART-003]: style-1.0.0.zip of github:acme/tools is larger than 512 MiB\n',
    });
    expect(github.api.lines).toEqual(['GET /repos/acme/tools/releases/tags/v7']);
  });

  it('names every archive that cannot be used, and records nothing then', async () => {
    const good = await skillAsset('style-1.0.0.zip', 'Be good.');
    const github = await FakeGithub.open({
      repo,
      releases: {
        v7: [
          good,
          { name: 'docs.zip', bytes: Buffer.from('no archive') },
          { ...(await skillAsset('tone-1.0.0.zip', 'Be calm.', 'tone')), digest: `sha256:${'0'.repeat(64)}` },
          { ...(await skillAsset('shut-1.0.0.zip', 'Be shut.', 'shut')), isRefused: true },
          { name: `far-1.0.0-darwin-${here === 'darwin-aarch64' ? 'x86_64' : 'aarch64'}.zip`, bytes: good.bytes },
        ],
      },
    });
    const { code, stderr, stdout } = await install(github, `github:${repo}@v7`);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.match(/^error\[[A-Z0-9-]+\]: .{0,20}/gm)?.map((line) => line.slice(0, 30))).toEqual([
      'error[E-REG-001]: far-1.0.0 in',
      'error[E-ART-001]: github:acme/',
      'error[E-REG-002]: github:acme/',
      'error[E-IO-003]: github:acme/t',
    ]);
    const files = `127.0.0.1:${github.files.port}`;
    expect(stderr).toContain(
      `error[E-IO-003]: github:acme/tools does not give shut-1.0.0.zip (403 from ${files})\n` +
        `hint: it led to ${files}, its storage, where no login of yours counts: run the command again, `,
    );
    expect(existsSync(join(workspace.folder, 'svc.lock'))).toBe(false);
  });

  it.each([
    [
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1893456000' },
      403,
      'it is renewed at 2030-01-01T00:00:00.000Z',
    ],
    [{ 'retry-after': '60' }, 429, 'try again in 60 seconds'],
    [{}, 429, 'try again later'],
  ])('says when a rate limit %j ends, and that a token raises it', async (headers, status, when) => {
    const server = await StandInServer.open(json(status, { message: 'API rate limit exceeded' }, headers));
    const end = await svc(workspace, ['install', `github:${repo}@v7`], { env: { SVC_GITHUB_API_URL: server.url } });
    expect(end).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr:
        `error[E-IO-003]: github:acme/tools does not list its releases: the rate limit is used up, ${when}\n` +
        'hint: wait, or set GITHUB_TOKEN: with a token the limit is higher\n',
    });
  });
});

describe('svc install <name>@<version> from a GitHub source', () => {
  const lookup = async (releases: FakeReleases): Promise<{ readonly end: SvcEnd; readonly github: FakeGithub }> => {
    configure();
    const github = await FakeGithub.open({ repo, releases });
    return { github, end: await install(github, 'style@1.0.0') };
  };

  it('looks at the release of the version, then with a v, then at the latest [D1-CLI-14, D1-CONF-02]', async () => {
    const archive = await skillAsset('style-1.0.0.zip', 'Be found.');
    const { end, github } = await lookup({ '0.9': [], '1.0.0': [], 'v1.0.0': [], newest: [archive] });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(end.stdout)).toMatchObject({ name: 'style', origin: 'ours (github:acme/tools)' });
    expect(github.api.lines.map((line) => line.replace(`GET /repos/${repo}/releases`, ''))).toEqual([
      '/tags/1.0.0',
      '/tags/v1.0.0',
      '/latest',
      '/assets/0',
    ]);
    rmSync(store(), { recursive: true });
    const first = await lookup({ '1.0.0': [archive], 'v1.0.0': [await skillAsset('style-1.0.0.zip', 'Be later.')] });
    expect(first.end.stderr).toBe('');
    expect(textOf('style')).toContain('Be found.');
  });

  it('takes the archive for this machine before the generic one', async () => {
    const generic = await skillAsset('style-1.0.0.zip', 'Be generic.');
    const local = await skillAsset(`style-1.0.0-${here}.zip`, 'Be local.');
    expect((await lookup({ 'v1.0.0': [generic, local] })).end.code).toBe(0);
    expect(textOf('style', `-${here}`)).toContain('Be local.');
  });

  it('finds nothing under other names', async () => {
    const { end } = await lookup({
      '1.0.0': [await skillAsset('style.zip', 'Be x.'), await skillAsset('style-2.0.0.zip', 'x')],
    });
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toMatch(
      /^error\[E-REG-001\]: style@1\.0\.0 for \S+ is not in .*, the source ours \(github:acme\/tools\)\n/,
    );
  });

  it('holds the bytes to the digest that GitHub names, and takes them as they are where it names none', async () => {
    const archive = await skillAsset('style-1.0.0.zip', 'Be whole.');
    const wrong = await lookup({ '1.0.0': [{ ...archive, digest: `sha256:${'0'.repeat(64)}` }] });
    expect(wrong.end.stderr).toMatch(/^error\[E-REG-002\]: ours \(github:acme\/tools\) sent bytes with sha256 /);
    expect(readdirSync(store())).toEqual([]);
    const { name, bytes } = archive;
    expect((await lookup({ '1.0.0': [{ name, bytes }] })).end).toMatchObject({ code: 0, stderr: '' });
    rmSync(store(), { recursive: true });
    const other = await archiveBytes(skillFiles('style', 'Be another.'));
    const changed = await lookup({ '1.0.0': [{ name, bytes: other, digest: null }] });
    expect(changed.end.stderr).toMatch(
      /^error\[E-REG-005\]: ours \(github:acme\/tools\) serves style@1\.0\.0 with sha256 /,
    );
    expect(readdirSync(store())).toEqual([]);
  });

  it('shows the token of the source, which is a variable [D1-CONF-04, D1-AUTH-03]', async () => {
    configure(', token: "${OURS}"');
    const releases = { '1.0.0': [await skillAsset('style-1.0.0.zip', 'Be private.')] };
    const github = await FakeGithub.open({ repo, releases, token: 'ghp_2' });
    const end = await install(github, 'style@1.0.0', { OURS: 'ghp_2', GITHUB_TOKEN: 'another' });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const unset = await svc(workspace, ['install', 'tone@1.0.0'], { env: { SVC_GITHUB_API_URL: github.api.url } });
    expect(unset.stderr).toMatch(
      /^error\[E-MAN-003\]: the token of registry source ours refers to OURS, which is not set\n/,
    );
  });

  it('cannot be published to or searched', async () => {
    configure();
    workspace.write('tool/svc.yaml', manifestText({ name: 'style', version: '1.0.0', runtime: 'skill' }));
    workspace.write('tool/skill.md', 'Be x.');
    for (const args of [
      ['publish', 'tool'],
      ['search', 'style'],
    ]) {
      const end = await svc(workspace, args);
      expect(end).toMatchObject({ code: 1, stdout: '' });
      expect(end.stderr).toMatch(/^error\[E-REG-006\]: ours \(github:acme\/tools\) is a GitHub repository, which /);
    }
  });
});

describe('svc add github:<owner>/<repo>@<tag>', () => {
  const releases = async (): Promise<FakeReleases> => ({
    v7: [await skillAsset('tone-1.0.0.zip', 'Be calm.', 'tone')],
    latest: [await skillAsset('tone-1.0.0.zip', 'Be loud.', 'tone')],
  });
  const row = `{ name: tone, version: 1.0.0, runtime: skill, from: "github:${repo}@v7" }`;
  const manifest = (): string => readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');

  it('writes where it comes from, and what is missing later is fetched from there, whatever registry is in use', async () => {
    workspace = capsule({ manifest: 'artifacts: []\n', files: { 'task.md': 'Begin.\n' } });
    const github = await FakeGithub.open({ repo, releases: await releases() });
    const other = await StandInServer.open(json(404, { error: 'not_found' }));
    const env = { SVC_GITHUB_API_URL: github.api.url, SVC_REGISTRY_URL: other.url };
    const planned = await svc(workspace, ['add', `github:${repo}@v7`, '--dry-run', '--json'], { env });
    expect(JSON.parse(planned.stdout)).toMatchObject({ name: 'tone', after: '1.0.0', outcome: 'planned' });
    expect(existsSync(store())).toBe(false);
    const added = await svc(workspace, ['add', `github:${repo}@v7`], { env });
    expect([added.code, added.stderr]).toEqual([0, '']);
    expect(manifest()).toContain(`artifacts: [${row}]\n`);
    expect(textOf('tone')).toContain('Be calm.');
    for (const command of ['install', 'run']) {
      rmSync(join(workspace.folder, '.svc'), { recursive: true });
      expect(await svc(workspace, [command], { env })).toMatchObject({ code: 0, stderr: '' });
      expect(textOf('tone')).toContain('Be calm.');
    }
    const updated = await svc(workspace, ['update', 'tone'], { env });
    expect(updated.stderr).toContain('tone stays at 1.0.0: it comes from the place in its entry (from)');
    expect(other.lines).toEqual([]);
  });

  it('refuses files that name no artifact', async () => {
    const assets = [await skillAsset('tools.zip', 'Be calm.', 'tone')];
    const github = await FakeGithub.open({ repo, releases: { v7: assets } });
    const env = { SVC_GITHUB_API_URL: github.api.url };
    const { code, stderr } = await svc(workspace, ['add', `github:${repo}@v7`], { env });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('error[E-ART-008]: "tools.zip" in the release') as string,
    ]);
  });
});
