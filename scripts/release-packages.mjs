// @ts-check
// Makes the tarballs that are published out of a built checkout: those of `npm pack`, with the name, the repository and the openness that a
// registry is given, and documents that link to nothing which is not there. The checkout's own manifests stay private, so that nothing is published by a slip.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { bundledPackages, publishedPackages } from './build-packages.mjs';
import { scope } from './own-names.mjs';
import { mendLinks, readableAt } from './packed-links.mjs';

/**
 * What is published, what others depend on first: names of packages, and the folders that they are packed from. `svc` is the whole checkout; a
 * registry gets it under the scope of all, which stands in own-names.mjs alone.
 */
export const released = [
  ...publishedPackages.filter((name) => !needsSvc(name)),
  'svc',
  ...publishedPackages.filter(needsSvc),
].map((name) => ({ name: `${scope}${name}`, folder: name === 'svc' ? '.' : join('packages', name) }));

/** @param {string} name */
function needsSvc(name) {
  return (
    /** @type {Record<string, { needs: string[] }>} */ (bundledPackages)[name]?.needs.includes(`${scope}svc`) ?? false
  );
}

/**
 * One tarball for each into `out`. `repository` is the address of the sources, which a provenance has to agree with; null without one.
 * @param {string} checkout
 * @param {{ out: string, repository: string | null }} request
 * @returns {{ name: string, file: string, sha256: string }[]} In the order in which they are published.
 */
export function packReleased(checkout, { out, repository }) {
  mkdirSync(out, { recursive: true });
  return released.map(({ name, folder }) => {
    const work = mkdtempSync(join(tmpdir(), 'svc-release-'));
    try {
      const packed = npmPack(join(checkout, folder), work);
      execFileSync('tar', ['-xzf', join(work, packed), '-C', work]);
      const manifest = join(work, 'package', 'package.json');
      const own = JSON.parse(readFileSync(manifest, 'utf8'));
      const opened = openManifest(own, { name, repository, folder });
      writeFileSync(manifest, `${JSON.stringify(opened, null, 2)}\n`);
      const sources = repository === null ? null : readableAt(repository, `v${own.version}`);
      mendLinks(join(work, 'package'), { place: folder, sources });
      const file = npmPack(join(work, 'package'), out);
      return { name, file, sha256: sha256(readFileSync(join(out, file))) };
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  });
}

/**
 * A manifest without what only a checkout has a use for. The development dependencies stay: `svc new` reads there what authors build with.
 * @param {Record<string, unknown>} manifest
 * @param {{ name: string, repository: string | null, folder: string }} as
 */
export function openManifest(manifest, { name, repository, folder }) {
  const { private: _private, scripts: _scripts, workspaces: _workspaces, ...rest } = manifest;
  const place = folder === '.' ? {} : { directory: folder };
  return {
    ...rest,
    name,
    ...(repository === null ? {} : { repository: { type: 'git', url: repository, ...place } }),
    publishConfig: { access: 'public' },
  };
}

/**
 * @param {string} folder
 * @param {string} out
 * @returns {string} The name of the tarball.
 */
function npmPack(folder, out) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', out];
  const [{ filename }] = JSON.parse(execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: quiet }));
  return filename;
}

/** @type {['ignore', 'pipe', 'pipe']} */
const quiet = ['ignore', 'pipe', 'pipe'];

/**
 * What two builds of the same commit differ in, a line for each tarball and the files in it; empty when their bytes are the same.
 * @param {string} one A folder with tarballs.
 * @param {string} other
 * @param {readonly string[]} files
 * @returns {string[]}
 */
export function differingBuilds(one, other, files) {
  return files
    .filter((file) => !readFileSync(join(one, file)).equals(readFileSync(join(other, file))))
    .map((file) => `${file}: ${differingFiles(join(one, file), join(other, file)).join(', ') || 'how it is packed'}`);
}

/**
 * @param {string} one
 * @param {string} other
 */
function differingFiles(one, other) {
  const work = mkdtempSync(join(tmpdir(), 'svc-release-'));
  try {
    const listed = [one, other].map((tarball, index) => {
      const folder = join(work, String(index));
      mkdirSync(folder);
      execFileSync('tar', ['-xzf', tarball, '-C', folder]);
      const names = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' })
        .trim()
        .split('\n')
        .filter((name) => !name.endsWith('/'));
      return new Map(names.map((name) => [name, sha256(readFileSync(join(folder, name)))]));
    });
    const [first = new Map(), second = new Map()] = listed;
    const names = [...new Set([...first.keys(), ...second.keys()])];
    return names.filter((name) => first.get(name) !== second.get(name));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** @param {Uint8Array} bytes */
export function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}
