// @ts-check
// Makes a release of the commit that is checked out: builds it twice from clean clones in different surroundings, compares every byte, and puts
// into a folder what is published and what goes beside it. With --publish, npm gets the packages; without, it is only asked whether it would take them.
//   node scripts/release.mjs --out <folder> [--repository <address>] [--maintainer <name and address>] [--publish]
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';

import { releasedVersionsThatChanged } from './artifact-sums.mjs';
import { makeDebianPackage } from './debian-package.mjs';
import { scope } from './own-names.mjs';
import { differingBuilds, packReleased, sha256 } from './release-packages.mjs';
import { spdxList } from './spdx-list.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What must not be seen in what is built. */
const surroundings = [
  { folder: 'a', env: { TZ: 'UTC', LANG: 'C' } },
  { folder: 'somewhere/deeper/than the other', env: { TZ: 'Pacific/Chatham', LANG: 'tr_TR.UTF-8' } },
];

/**
 * Why this commit cannot be released; null when it can.
 * @param {string} checkout
 * @param {{ publishes: boolean }} request
 */
export function whyNotReleasable(checkout, { publishes }) {
  const git = gitIn(checkout);
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
  if (git('status', '--porcelain') !== '') return 'there are changes that are not committed';
  const changed = releasedVersionsThatChanged(checkout);
  if (changed.length > 0) return `bundled artifacts changed under a version that was released: ${changed.join(', ')}`;
  const changes = readFileSync(join(checkout, 'CHANGELOG.md'), 'utf8');
  if (!new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b`, 'm').test(changes)) {
    return `CHANGELOG.md says nothing of ${version}`;
  }
  if (!publishes) return null;
  if (git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`)) return null;
  return `the commit has no tag v${version}`;
}

/**
 * What goes beside the packages of a release, into the folder where they are: the names of all files there, in the order of SHA256SUMS.
 * `listOf` makes the list of what is in it, from what was built.
 * @param {{ out: string, packages: readonly { name: string, file: string, sha256: string }[], created: string, maintainer?: string, listOf?: typeof spdxList }} release
 */
export function makeAssets({ out, packages, created, maintainer, listOf = spdxList }) {
  const svc = packages.find(({ name }) => name === `${scope}svc`);
  if (svc === undefined) throw new Error('nothing was packed');
  const { version } = JSON.parse(
    execFileSync('tar', ['-xzOf', join(out, svc.file), 'package/package.json'], { encoding: 'utf8' }),
  );
  const tarball = `svc-${version}.tgz`;
  copyFileSync(join(out, svc.file), join(out, tarball));
  const tar = join(out, `svc-${version}.tar`);
  writeFileSync(tar, gunzipSync(readFileSync(join(out, svc.file))));
  execFileSync('xz', ['-9', '-T1', '--force', tar]);
  const debian = makeDebianPackage(join(out, svc.file), { out, ...(maintainer === undefined ? {} : { maintainer }) });
  const archives = bundledArchives(join(out, svc.file), out);
  const list = `svc-${version}.spdx.json`;
  writeFileSync(join(out, list), `${JSON.stringify(listOf({ version, sha256: svc.sha256, created }), null, 2)}\n`);
  const assets = [tarball, `${tar.slice(out.length + 1)}.xz`, debian, list];
  const others = packages.filter((each) => each !== svc).map(({ file }) => file);
  const files = [...assets, ...others, ...archives];
  const sums = files.map((file) => `${sha256(readFileSync(join(out, file)))}  ${file}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
  return [...files, 'SHA256SUMS'];
}

/**
 * The archives of the bundled artifacts, each a file of its own: the next svc may bring them in other versions, and a project can stay with these.
 * @param {string} tarball Of svc.
 * @param {string} out
 * @returns {string[]} Their names, sorted.
 */
function bundledArchives(tarball, out) {
  const work = mkdtempSync(join(tmpdir(), 'svc-release-'));
  try {
    execFileSync('tar', ['-xzf', tarball, '-C', work]);
    const bundled = join(work, 'package', 'dist', 'bundled');
    const paths = readdirSync(bundled, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.zip'));
    for (const path of paths) copyFileSync(join(bundled, path), join(out, basename(path)));
    return paths.map((path) => basename(path)).sort();
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Hands the packages to npm, those that others depend on first; unless `publishes`, npm only says what it would do. Throws for a package whose
 * manifest is private: npm does not look at that of a tarball until it sends it.
 * @param {readonly { name: string, file: string }[]} packages
 * @param {{ out: string, publishes: boolean, env?: NodeJS.ProcessEnv, stdio?: 'inherit' | 'pipe' }} how
 */
export function publish(packages, { out, publishes, env = process.env, stdio = 'inherit' }) {
  const args = publishes ? ['--provenance'] : ['--dry-run'];
  for (const { file } of packages) {
    const manifest = execFileSync('tar', ['-xzOf', join(out, file), 'package/package.json'], { encoding: 'utf8' });
    if (JSON.parse(manifest).private === true) throw new Error(`${file} is private`);
    execFileSync('npm', ['publish', join(out, file), '--access', 'public', ...args], { env, stdio });
  }
}

/**
 * A clean clone of a commit, built.
 * @param {string} folder
 * @param {{ commit: string, env: NodeJS.ProcessEnv }} of
 */
function buildClone(folder, { commit, env }) {
  mkdirSync(join(folder, '..'), { recursive: true });
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, folder], { stdio: 'inherit' });
  execFileSync('git', ['-C', folder, 'checkout', '--quiet', '--detach', commit], { stdio: 'inherit' });
  const there = { cwd: folder, env: { ...process.env, ...env }, stdio: /** @type {'inherit'} */ ('inherit') };
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], there);
  execFileSync(process.execPath, ['scripts/build.mjs'], there);
}

/** @param {string} checkout */
function gitIn(checkout) {
  return (/** @type {string[]} */ ...args) =>
    execFileSync('git', ['-C', checkout, ...args], { encoding: 'utf8' }).trim();
}

/** @param {{ out: string, repository: string | null, maintainer?: string, publishes: boolean }} request */
async function release({ out, repository, maintainer, publishes }) {
  const obstacle = whyNotReleasable(root, { publishes });
  if (obstacle !== null) throw new Error(obstacle);
  // What is checked out meanwhile is another matter.
  const commit = gitIn(root)('rev-parse', 'HEAD');
  const work = mkdtempSync(join(tmpdir(), 'svc-release-'));
  try {
    const builds = surroundings.map(({ folder, env }, index) => {
      const clone = join(work, folder);
      buildClone(clone, { commit, env });
      const packed = join(work, `packed-${index}`);
      return { packed, packages: packReleased(clone, { out: packed, repository }) };
    });
    const [first, second] = builds;
    if (first === undefined || second === undefined) throw new Error('it was not built twice');
    const files = first.packages.map(({ file }) => file);
    const differing = differingBuilds(first.packed, second.packed, files);
    if (differing.length > 0) throw new Error(`two builds of the commit differ:\n${differing.join('\n')}`);
    mkdirSync(out, { recursive: true });
    for (const file of files) copyFileSync(join(first.packed, file), join(out, file));
    const created = gitIn(root)('show', '-s', '--format=%cd', '--date=format-local:%Y-%m-%dT%H:%M:%SZ', commit);
    const built = pathToFileURL(join(work, surroundings[0]?.folder ?? '', 'scripts', 'spdx-list.mjs'));
    const { spdxList: listOf } = await import(built.href);
    const assets = makeAssets({
      out,
      packages: first.packages,
      created,
      listOf,
      ...(maintainer === undefined ? {} : { maintainer }),
    });
    publish(first.packages, { out, publishes });
    // The same bytes are there under the name that is downloaded, with their hash in SHA256SUMS.
    rmSync(join(out, /** @type {string} */ (files.at(-1))));
    process.stdout.write(`${assets.map((file) => join(out, file)).join('\n')}\n`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      out: { type: 'string' },
      repository: { type: 'string' },
      maintainer: { type: 'string' },
      publish: { type: 'boolean', default: false },
    },
  });
  const { out, repository = null, maintainer, publish: publishes } = values;
  if (out === undefined) {
    process.stderr.write(
      'usage: node scripts/release.mjs --out <folder> [--repository <address>] [--maintainer <name and address>] [--publish]\n',
    );
    process.exitCode = 2;
  } else {
    process.env['TZ'] = 'UTC';
    await release({ out: resolve(out), repository, publishes, ...(maintainer === undefined ? {} : { maintainer }) });
  }
}
