import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';

import { documentsOf, linksOf, mendLinks, readableAt } from '../../scripts/packed-links.mjs';
import { differingBuilds, packReleased } from '../../scripts/release-packages.mjs';
import { makeAssets, publish, whyNotReleasable } from '../../scripts/release.mjs';
import { whyMissing } from '../support/debian-program.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const repository = 'git+https://git.example.com/acme/svc.git';
const created = '2026-01-02T03:04:05Z';
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };

/** What the build has made of the bundled artifacts, sorted. */
const sums = JSON.parse(readFileSync(join(root, 'artifacts', 'sums.json'), 'utf8')) as Record<string, string>;

/** Asks no registry: nobody listens there. */
const offline = { ...process.env, NPM_CONFIG_REGISTRY: 'http://127.0.0.1:9/', NPM_CONFIG_FETCH_RETRIES: '0' };

function run(
  program: string,
  args: readonly string[],
  cwd: string = root,
): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env: offline, encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

function folderOfTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-release-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What links can lead to in a document: its headings, as the usual renderers name them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('a release of this checkout', { timeout: 240_000 }, () => {
  const out = mkdtempSync(join(tmpdir(), 'svc-release-test-'));
  let packages: ReturnType<typeof packReleased>;
  beforeAll(() => {
    packages = packReleased(root, { out, repository });
  }, 240_000);
  afterAll(() => rmSync(out, { recursive: true, force: true }));

  const manifestOf = (file: string): Record<string, unknown> =>
    JSON.parse(run('tar', ['-xzOf', join(out, file), 'package/package.json']).said) as Record<string, unknown>;

  it('has every package, what others depend on first, under one scope', () => {
    expect(packages.map(({ name }) => name)).toEqual([
      '@svc/protocol',
      '@svc/client',
      '@svc/sandbox',
      '@svc/guest',
      '@svc/testing',
      '@svc/record',
      '@svc/svc',
      '@svc/capsule',
    ]);
    expect(packages.at(-2)?.file).toBe(`svc-svc-${version}.tgz`);
  });

  it('opens each manifest while it is packed, and says where the sources are', () => {
    for (const { name, file } of packages) {
      const manifest = manifestOf(file);
      expect(manifest).toMatchObject({ name, version, publishConfig: { access: 'public' } });
      expect(manifest['repository']).toMatchObject({ type: 'git', url: repository });
      for (const key of ['private', 'scripts', 'workspaces']) expect(manifest, name).not.toHaveProperty(key);
    }
    expect(manifestOf(`svc-client-${version}.tgz`)['repository']).toMatchObject({ directory: 'packages/client' });
  });

  it.each([
    ['the repository', repository],
    ['no repository', null],
  ])('has documents whose links all lead somewhere, with %s', (_, declared) => {
    const packed = folderOfTest();
    const files = declared === null ? packReleased(root, { out: packed, repository: null }) : packages;
    const from = declared === null ? packed : out;
    let outside = 0;
    for (const { name, file } of files) {
      const unpacked = join(folderOfTest(), 'package');
      run('tar', ['-xzf', join(from, file), '-C', dirname(unpacked)]);
      for (const document of documentsOf(unpacked)) {
        const text = readFileSync(join(unpacked, document), 'utf8');
        for (const target of linksOf(text)) {
          const where = `${name} ${document}: ${target}`;
          const [, path] = /^https:\/\/git\.example\.com\/acme\/svc\/(?:blob|raw)\/v[\d.]+\/([^#]+)/.exec(target) ?? [];
          if (path !== undefined) {
            expect(existsSync(join(root, path)), where).toBe(true);
            outside += 1;
          }
          if (/^([a-z]+:|#)/.test(target)) continue;
          const [local = '', anchor] = target.split('#');
          const found = join(unpacked, dirname(document), local);
          expect(existsSync(found), where).toBe(true);
          if (anchor !== undefined && local.endsWith('.md')) {
            expect(anchorsOf(readFileSync(found, 'utf8')), where).toContain(anchor);
          }
        }
        expect(text, `${name} ${document}`).not.toMatch(/\0/);
      }
    }
    expect(outside > 20).toBe(declared !== null);
  });

  it('passes npm as far as it can be tried, and a manifest of the checkout does not', () => {
    publish(packages, { out, publishes: false, env: offline, stdio: 'pipe' });
    const own = folderOfTest();
    run('npm', ['pack', '--ignore-scripts', '--pack-destination', own], join(root, 'packages/protocol'));
    const file = `svc-protocol-${version}.tgz`;
    expect(() => publish([{ name: '@svc/protocol', file }], { out: own, publishes: false, env: offline })).toThrow(
      `${file} is private`,
    );
  });

  it('differs where a byte of a file in a tarball does, and names the file', () => {
    const other = folderOfTest();
    for (const { file } of packages) copyFileSync(join(out, file), join(other, file));
    const files = packages.map(({ file }) => file);
    expect(differingBuilds(out, other, files)).toEqual([]);
    const [file = ''] = files;
    run('tar', ['-xzf', join(other, file), '-C', other]);
    writeFileSync(join(other, 'package', 'README.md'), 'another');
    run('tar', ['-czf', join(other, file), '-C', other, 'package']);
    expect(differingBuilds(out, other, files)).toEqual([
      expect.stringMatching(/^svc-protocol-.*: .*package\/README\.md/),
    ]);
  });

  it('has beside the packages what else is downloaded, with the hash of each', (context) => {
    const missing = whyMissing('xz', 'xz-utils') ?? whyMissing('dpkg-deb', 'dpkg');
    context.skip(missing !== null, missing ?? '');
    const files = makeAssets({ out, packages, created, maintainer: 'Ada <ada@example.com>' });
    expect(files).toEqual([
      `svc-${version}.tgz`,
      `svc-${version}.tar.xz`,
      `svc_${version}_all.deb`,
      `svc-${version}.spdx.json`,
      ...packages.filter(({ name }) => name !== '@svc/svc').map(({ file }) => file),
      // What a project of this release stays with where the next svc brings another version.
      ...Object.keys(sums).map((ref) => `${ref.replace('@', '-')}.zip`),
      'SHA256SUMS',
    ]);
    for (const [ref, archive] of Object.entries(sums)) {
      const bytes = readFileSync(join(out, `${ref.replace('@', '-')}.zip`));
      expect(createHash('sha256').update(bytes).digest('hex'), ref).toBe(archive);
    }
    expect(run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], out).status).toBe(0);
    expect(run('xz', ['--test', `svc-${version}.tar.xz`], out).status).toBe(0);
  });

  it('lists in SPDX what is built into it, each under its terms', (context) => {
    context.skip(!readdirSync(out).includes(`svc-${version}.spdx.json`), 'needs what the test before makes');
    const list = JSON.parse(readFileSync(join(out, `svc-${version}.spdx.json`), 'utf8')) as {
      readonly packages: readonly Readonly<Record<string, unknown>>[];
      readonly relationships: readonly unknown[];
    };
    const sha256 = createHash('sha256')
      .update(readFileSync(join(out, `svc-${version}.tgz`)))
      .digest('hex');
    expect(list).toMatchObject({
      spdxVersion: 'SPDX-2.3',
      creationInfo: { created },
      documentNamespace: `https://spdx.org/spdxdocs/svc-${version}-${sha256}`,
    });
    expect(list.packages[0]).toMatchObject({
      name: 'svc',
      checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }],
    });
    const terms = new Map(list.packages.map(({ name, licenseDeclared }) => [name, licenseDeclared]));
    expect(terms.get('zod')).toBe('MIT');
    expect(terms.get('quickjs-ng, the JavaScript engine of the bundled components')).toBe('MIT AND Unicode-3.0');
    const others = readFileSync(join(root, 'THIRD-PARTY-LICENSES'), 'utf8');
    for (const name of terms.keys()) if (name !== 'svc') expect(others).toContain(String(name));
    expect(list.relationships).toHaveLength(list.packages.length);
    const ids = new Set(list.packages.map(({ SPDXID }) => SPDXID));
    expect(ids.size).toBe(list.packages.length);
  });
});

describe('a commit', () => {
  /** A checkout of its own with what is looked at. */
  function checkout(): { readonly folder: string; readonly git: (...args: string[]) => void } {
    const folder = folderOfTest();
    mkdirSync(join(folder, 'artifacts'));
    writeFileSync(join(folder, 'package.json'), '{ "version": "1.2.3" }');
    writeFileSync(join(folder, 'CHANGELOG.md'), '# Changes\n\n## 1.2.3\n\nAll is new.\n');
    writeFileSync(join(folder, 'artifacts', 'sums.json'), '{ "a@1.0.0": "1" }');
    const git = (...args: string[]): void => {
      const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false'];
      const { status, said } = run('git', ['-C', folder, ...identity, ...args]);
      expect(status, said).toBe(0);
    };
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', 'all');
    return { folder, git };
  }

  it('can be released once it is clean, announced and tagged', () => {
    const { folder, git } = checkout();
    expect(whyNotReleasable(folder, { publishes: false })).toBeNull();
    expect(whyNotReleasable(folder, { publishes: true })).toBe('the commit has no tag v1.2.3');
    git('tag', 'v1.2.3');
    expect(whyNotReleasable(folder, { publishes: true })).toBeNull();
  });

  it('cannot be released with changes, without a word in the changelog, and with other bytes under a released version', () => {
    const { folder, git } = checkout();
    git('tag', 'v1.2.2');
    writeFileSync(join(folder, 'artifacts', 'sums.json'), '{ "a@1.0.0": "2" }');
    expect(whyNotReleasable(folder, { publishes: false })).toBe('there are changes that are not committed');
    git('commit', '--quiet', '--all', '--message', 'other bytes');
    expect(whyNotReleasable(folder, { publishes: false })).toBe(
      'bundled artifacts changed under a version that was released: a@1.0.0',
    );
    writeFileSync(join(folder, 'artifacts', 'sums.json'), '{ "a@1.0.1": "2" }');
    writeFileSync(join(folder, 'CHANGELOG.md'), '# Changes\n\n## 1.2.30\n');
    git('commit', '--quiet', '--all', '--message', 'another version');
    expect(whyNotReleasable(folder, { publishes: false })).toBe('CHANGELOG.md says nothing of 1.2.3');
  });
});

interface Job {
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly {
    readonly uses?: string;
    readonly run?: string;
    readonly with?: Readonly<Record<string, unknown>>;
  }[];
}

describe('the workflow of a release', () => {
  const workflow = parse(readFileSync(join(root, '.github/workflows/release.yml'), 'utf8')) as {
    readonly on: unknown;
    readonly permissions: unknown;
    readonly jobs: { readonly test: Job; readonly release: Job };
  };
  const { test, release } = workflow.jobs;

  it('runs for tags alone, and tests both architectures before it publishes', () => {
    expect(workflow.on).toEqual({ push: { tags: ['v*'] } });
    expect(release.needs).toBe('test');
    expect(test).toMatchObject({ strategy: { matrix: { runner: ['ubuntu-24.04', 'ubuntu-24.04-arm'] } } });
    expect(test.steps.at(-1)).toEqual({ run: '.ci/run' });
  });

  it('may write and prove who it is in the job that publishes alone', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    expect(test.permissions).toBeUndefined();
    expect(release.permissions).toEqual({ contents: 'write', 'id-token': 'write' });
  });

  it('takes actions by their hash, and leaves no token in the checkout', () => {
    const steps = [...test.steps, ...release.steps].filter(({ uses }) => uses !== undefined);
    expect(steps).toHaveLength(4);
    for (const { uses = '' } of steps) expect(uses).toMatch(/^actions\/(checkout|setup-node)@[0-9a-f]{40}$/);
    for (const step of steps.filter(({ uses = '' }) => uses.includes('checkout'))) {
      expect(step.with).toMatchObject({ 'persist-credentials': false });
    }
  });

  it('puts no text of the event into a command', () => {
    for (const { run: command = '' } of [...test.steps, ...release.steps]) expect(command).not.toContain('${{');
  });
});

describe('the links of a packed document', () => {
  const text = [
    'See [the page](page.md#top), [`svc run`](cli.md), [why](adr/0001-x.md#y), [a test](../test/a.test.ts) and [the web](https://example.com/x).',
    '![A picture](pictures/a.png)',
    '`[not a link](nowhere.md)` and ``[nor `this`](nowhere.md)``',
    '```md',
    '[in a block](nowhere.md)',
    '```',
    '<picture>',
    '  <source srcset="pictures/dark.png"> <img alt="x" src="pictures/light.png">',
    '</picture>',
    'The end.',
    '',
  ].join('\n');

  function mended(sources: ReturnType<typeof readableAt>, place = '.'): string {
    const folder = folderOfTest();
    mkdirSync(join(folder, 'docs'));
    for (const name of ['page.md', 'cli.md']) writeFileSync(join(folder, 'docs', name), '# Top\n');
    writeFileSync(join(folder, 'docs', 'a.md'), text);
    mendLinks(folder, { place, sources });
    return readFileSync(join(folder, 'docs', 'a.md'), 'utf8');
  }

  it('lead to the repository at the tag where the package has not what they name', () => {
    expect(mended(readableAt('git+https://git.example.com/acme/svc.git', 'v1.2.0'))).toBe(
      text
        .replace('(adr/0001-x.md#y)', '(https://git.example.com/acme/svc/blob/v1.2.0/docs/adr/0001-x.md#y)')
        .replace('(../test/a.test.ts)', '(https://git.example.com/acme/svc/blob/v1.2.0/test/a.test.ts)')
        .replace('(pictures/a.png)', '(https://git.example.com/acme/svc/raw/v1.2.0/docs/pictures/a.png)')
        .replaceAll('"pictures/', '"https://git.example.com/acme/svc/raw/v1.2.0/docs/pictures/'),
    );
    expect(mended(readableAt('https://git.example.com/acme/svc', 'v1'), 'packages/client')).toContain(
      '(https://git.example.com/acme/svc/blob/v1/packages/client/docs/adr/0001-x.md#y)',
    );
  });

  it('become text without a repository, and pictures disappear', () => {
    expect(readableAt('git@git.example.com:acme/svc.git', 'v1')).toBeNull();
    expect(mended(null)).toBe(
      text
        .replace('[why](adr/0001-x.md#y)', 'why')
        .replace('[a test](../test/a.test.ts)', 'a test')
        .replace('![A picture](pictures/a.png)', '')
        .replace(/<picture>[^]*<\/picture>\n/, ''),
    );
  });

  it('fail where they lead out of the repository', () => {
    const folder = folderOfTest();
    writeFileSync(join(folder, 'a.md'), '[x](../../x.md)');
    expect(() => mendLinks(folder, { place: 'packages', sources: null })).toThrow('not in the repository');
  });
});
