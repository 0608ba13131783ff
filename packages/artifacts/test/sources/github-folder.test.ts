import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { HttpClient } from '@svc/kit/net/http-client.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { readArchive } from '../../src/store/archive.ts';
import { fetchFolder } from '../../src/store/sources/github-folder.ts';
import { GithubApi } from '../../src/store/sources/github-source.ts';
import { temporaryDirectory, writeFiles } from '../store/artifacts.ts';
import { FakeGithub, zipOfCommit } from './github-server.ts';
import { refusalOf } from './hostile-kit.ts';
import { StandInServer } from './stand-in-server.ts';

const repo = 'acme/skills';
const commit = 'c0ffee'.padEnd(40, '0');
const skill = {
  name: 'skills/pdf/SKILL.md',
  data: '---\nname: PDF_Forms\ndescription: Fills ${HOME} forms.\n---\nFill it.\n',
};

type Fetched = Awaited<ReturnType<typeof fetchFolder>>;

async function fetched(zip: Buffer, { ref = 'v1', folder = 'skills/pdf' } = {}): Promise<Fetched> {
  const github = await FakeGithub.open({ repo, commits: { [ref]: zip } });
  return await fetchFolder({ repo, ref, folder }, apiOf(github.api.url));
}

function apiOf(apiUrl: string): GithubApi {
  return new GithubApi({ apiUrl, repo, token: null, tokenName: 'GITHUB_TOKEN' }, new HttpClient());
}

/** The files of the archive that is made of a folder, and where it says that it is from. */
async function packed({
  ref,
  archiveFor,
}: Fetched): Promise<{ from: string | undefined; files: Record<string, string> }> {
  const { bytes, from } = await archiveFor(ref);
  const path = join(temporaryDirectory(), 'a.zip');
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  writeFileSync(path, Buffer.concat(chunks));
  const file = await RegularFile.open(path);
  try {
    const archive = await readArchive(file);
    const files: Record<string, string> = {};
    for (const name of archive.files) files[name] = (await archive.read(name)).toString('utf8');
    return { from, files };
  } finally {
    await file.close();
  }
}

describe('a folder of a GitHub repository', () => {
  it('gives the files that git archives of a commit', async () => {
    const folder = temporaryDirectory();
    await writeFiles(folder, {
      'README.md': 'All skills.',
      [skill.name]: skill.data,
      'skills/pdf/scripts/fill.py': '#!/usr/bin/env python3\n',
      'skills/pdf/references/für alle.md': 'A list.\n',
      'skills/pdf/node_modules/x/index.js': 'no',
      'skills/pdf-more/SKILL.md': 'Another.',
    });
    symlinkSync('/etc/passwd', join(folder, 'outside'));
    symlinkSync('../references/für alle.md', join(folder, 'skills/pdf/scripts/list.md'));
    const git = (...args: string[]): Buffer =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
        cwd: folder,
        env: { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
      });
    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', 'Begin');
    const head = git('rev-parse', 'HEAD').toString().trim();
    const zip = git('archive', '--format=zip', '--prefix=acme-skills-1234567/', 'HEAD');
    const found = await fetched(zip, { ref: 'feature/x' });
    expect(found.ref).toEqual({ name: 'pdf-forms', version: `0.0.0-g${head.slice(0, 12)}` });
    const { from, files } = await packed(found);
    expect(from).toBe(`github:${repo}@${head}#skills/pdf`);
    expect(files).toEqual({
      'SKILL.md': skill.data,
      'references/für alle.md': 'A list.\n',
      'scripts/fill.py': '#!/usr/bin/env python3\n',
      'scripts/list.md': 'A list.\n',
      'svc.yaml': expect.stringContaining('"description": "Fills ${HOME} forms."') as string,
    });
  });

  it('has the version of SKILL.md, else of the tag, else of the commit', async () => {
    const zip = await zipOfCommit(commit, [skill]);
    const versionOf = async (bytes: Buffer, ref: string): Promise<string> =>
      (await fetched(bytes, { ref })).ref.version;
    expect(await versionOf(zip, 'v1.2.3')).toBe('1.2.3');
    expect(await versionOf(zip, 'v3')).toBe('0.0.0-gc0ffee000000');
    expect(await versionOf(zip, commit)).toBe('0.0.0-gc0ffee000000');
    const data = skill.data.replace('---\nFill', 'metadata: { version: "7.1" }\n---\nFill');
    expect(await versionOf(await zipOfCommit(commit, [{ ...skill, data }]), 'v1.2.3')).toBe('7.1');
  });

  it('may be the whole repository, and takes its name', async () => {
    const data = skill.data.replace('name: PDF_Forms\n', '');
    const found = await fetched(await zipOfCommit(commit, [{ name: 'SKILL.md', data }]), { folder: '.' });
    expect(found.ref.name).toBe('skills');
  });

  it('refuses a version that stands for another commit', async () => {
    const { archiveFor } = await fetched(await zipOfCommit(commit, [skill]));
    expect(await refusalOf(archiveFor({ name: 'pdf', version: '0.0.0-gaaaaaaaaaaaa' }))).toMatchObject({
      code: 'E-REG-005',
      message: `github:${repo}@v1#skills/pdf is the commit ${commit} now, not that of pdf@0.0.0-gaaaaaaaaaaaa`,
    });
  });

  it('ends with E-REG-001 where it is not there, or in no such commit', async () => {
    const zip = await zipOfCommit(commit, [skill]);
    expect(await refusalOf(fetched(zip, { folder: 'skills/pd' }))).toMatchObject({ code: 'E-REG-001' });
    const github = await FakeGithub.open({ repo, commits: {} });
    expect(await refusalOf(fetchFolder({ repo, ref: 'v9', folder: 'x' }, apiOf(github.api.url)))).toMatchObject({
      code: 'E-REG-001',
      message: 'github:acme/skills has no tag, branch or commit "v9"',
    });
  });

  const renamed = (zip: Buffer, before: string, after: string): Buffer =>
    Buffer.from(zip.toString('latin1').replaceAll(before, after), 'latin1');
  const link = (data: string): { name: string; data: string; isLink: boolean }[] => [
    { name: 'skills/pdf/link', data, isLink: true },
  ];
  const many = Array.from({ length: 2000 }, (_, index) => ({ name: `skills/pdf/${index}`, data: '' }));
  const large = { name: 'skills/pdf/a', data: Buffer.alloc(33 * 1024 * 1024) };

  it.each([
    ['is no zip', async () => Promise.resolve(Buffer.from('no')), 'E-ART-001', /is not a readable zip archive/],
    ['is cut short', async () => (await zipOfCommit(commit, [skill])).subarray(0, -50), 'E-ART-001', /readable zip/],
    ['names no commit', async () => await zipOfCommit('', [skill]), 'E-ART-001', /names no commit$/],
    [
      'has a name with ".."',
      async () => renamed(await zipOfCommit(commit, [skill, { name: 'skills/pdf/AA/x', data: '' }]), '/AA/', '/../'),
      'E-ART-002',
      /"acme-skills-1234567\/skills\/pdf\/..\/x" has a ".." component$/,
    ],
    [
      'has a device',
      async () => await zipOfCommit(commit, [skill, { name: 'skills/pdf/d', data: '', mode: 0o020644 }]),
      'E-ART-002',
      /special file/,
    ],
    [
      'has two names that meet',
      async () => await zipOfCommit(commit, [skill, { name: 'skills/pdf/skill.MD', data: '' }]),
      'E-ART-002',
      /collides with/,
    ],
    [
      'has a link to an absolute path',
      async () => await zipOfCommit(commit, [skill, ...link('/SKILL.md')]),
      'E-ART-002',
      /is a link to no file of the folder/,
    ],
    [
      'has a link that leads out',
      async () => await zipOfCommit(commit, [skill, { name: 'secret', data: 'x' }, ...link('../../secret')]),
      'E-ART-002',
      /link to no file/,
    ],
    [
      'has a link that leads to itself',
      async () => await zipOfCommit(commit, [skill, ...link('link')]),
      'E-ART-002',
      /link to no file/,
    ],
    [
      'has a link to a folder',
      async () => await zipOfCommit(commit, [skill, { name: 'skills/pdf/a/b', data: '' }, ...link('a')]),
      'E-ART-002',
      /link to no file/,
    ],
    [
      'has 2,001 files',
      async () => await zipOfCommit(commit, [skill, ...many]),
      'E-ART-003',
      /more than 2000 files or 64 MiB$/,
    ],
    [
      'unpacks to more than 64 MiB',
      async () => await zipOfCommit(commit, [skill, large, { ...large, name: 'skills/pdf/b' }]),
      'E-ART-003',
      /64 MiB$/,
    ],
    [
      'has more than 64 MiB by its links',
      async () => await zipOfCommit(commit, [skill, large, ...link('a')]),
      'E-ART-003',
      /64 MiB$/,
    ],
    [
      'has folders 17 deep',
      async () => await zipOfCommit(commit, [skill, { name: `skills/pdf/${'a/'.repeat(16)}b`, data: '' }]),
      'E-ART-003',
      /16 levels deep$/,
    ],
    [
      'has no SKILL.md',
      async () => await zipOfCommit(commit, [{ ...skill, name: 'skills/pdf/skill.txt' }]),
      'E-ART-004',
      /holds no file SKILL.md$/,
    ],
    [
      'has a SKILL.md without a head',
      async () => await zipOfCommit(commit, [{ ...skill, data: 'Fill it.' }]),
      'E-ART-004',
      /does not begin with a head/,
    ],
    [
      'has a SKILL.md that is not UTF-8',
      async () => await zipOfCommit(commit, [{ ...skill, data: Buffer.from([0xff]) }]),
      'E-ART-004',
      /is not UTF-8$/,
    ],
    [
      'has a SKILL.md above 1 MiB',
      async () => await zipOfCommit(commit, [{ ...skill, data: skill.data + 'a'.repeat(1024 * 1024) }]),
      'E-ART-003',
      /larger than 1 MiB$/,
    ],
    [
      'has svc.yaml',
      async () => await zipOfCommit(commit, [skill, { name: 'skills/pdf/svc.yaml', data: '' }]),
      'E-ART-004',
      /no standard skill folder$/,
    ],
  ] as const)('fails where it %s', async (_, make, code, message) => {
    const outcome = await refusalOf(fetched(await make()));
    expect(outcome).toMatchObject({ code });
    expect((outcome as Error).message).toMatch(message);
  });

  it('holds the answer to the commit that is asked for', async () => {
    const other = 'b'.repeat(40);
    expect(await refusalOf(fetched(await zipOfCommit(commit, [skill]), { ref: other }))).toMatchObject({
      code: 'E-REG-002',
    });
  });

  it('whose archive does not end is E-IO-003', async () => {
    const server = await StandInServer.open((_, response) => {
      response.writeHead(200);
      response.write('PK');
      response.destroy();
    });
    expect(await refusalOf(fetchFolder({ repo, ref: 'v1', folder: 'x' }, apiOf(server.url)))).toMatchObject({
      code: 'E-IO-003',
    });
  });
});
