// @ts-check
// Makes a package for Debian and its relatives of the tarball of svc: the same files below /usr/lib/svc, the programs in /usr/bin, the manual pages.
// The same tarball gives the same bytes. It needs dpkg-deb.
//   node scripts/debian-package.mjs <svc.tgz> <folder>
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** The time of all files, in Unix seconds: the one that npm gives to those of a tarball. */
const modified = 499_162_500;
/** Where the files of the tarball lie. */
const place = 'usr/lib/svc';
const documents = 'usr/share/doc/svc';
/** Contact for the package, for builds that know; a release names its owner. */
const unknownMaintainer = 'The authors of svc <svc@packages.invalid>';

/**
 * @param {string} tarball
 * @param {{ out: string, maintainer?: string }} request
 * @returns {string} The name of the package's file in `out`.
 */
export function makeDebianPackage(tarball, { out, maintainer = unknownMaintainer }) {
  const work = mkdtempSync(join(tmpdir(), 'svc-deb-'));
  try {
    const root = join(work, 'root');
    const files = join(root, place);
    mkdirSync(files, { recursive: true });
    execFileSync('tar', ['-xzf', tarball, '-C', files, '--strip-components=1', '--no-same-owner']);
    const { version, description, bin } = JSON.parse(readFileSync(join(files, 'package.json'), 'utf8'));
    linkPrograms(root, bin);
    moveManPages(root, files);
    writeDocuments(root, files, { version, maintainer });
    writeControl(root, { version, description, maintainer });
    settleModes(root);
    const file = `svc_${version}_all.deb`;
    mkdirSync(out, { recursive: true });
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', root, join(out, file)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, SOURCE_DATE_EPOCH: String(modified) },
    });
    return file;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {string} root
 * @param {Record<string, string>} bin
 */
function linkPrograms(root, bin) {
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  for (const [name, file] of Object.entries(bin)) {
    symlinkSync(join('..', 'lib', 'svc', file), join(root, 'usr/bin', name));
    chmodSync(join(root, place, file), 0o755);
  }
}

/**
 * @param {string} root
 * @param {string} files
 */
function moveManPages(root, files) {
  const pages = join(root, 'usr/share/man/man1');
  mkdirSync(pages, { recursive: true });
  for (const page of readdirSync(join(files, 'man'))) {
    writeFileSync(join(pages, `${page}.gz`), zipped(readFileSync(join(files, 'man', page))));
  }
  rmSync(join(files, 'man'), { recursive: true });
}

/**
 * @param {string} root
 * @param {string} files
 * @param {{ version: string, maintainer: string }} about
 */
function writeDocuments(root, files, { version, maintainer }) {
  const folder = join(root, documents);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'copyright'),
    `Copyright 2026 the authors of svc. It is under the Apache License, Version 2.0, as in /usr/share/common-licenses/Apache-2.0.

The software of others that is built into it is named in /${place}/THIRD-PARTY-LICENSES, with the terms of each.
`,
  );
  const date = new Date(modified * 1000).toUTCString().replace('GMT', '+0000');
  const entry = `svc (${version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz beside this file.\n\n -- ${maintainer}  ${date}\n`;
  writeFileSync(join(folder, 'changelog.gz'), zipped(Buffer.from(entry)));
  writeFileSync(join(folder, 'CHANGELOG.md.gz'), zipped(readFileSync(join(files, 'CHANGELOG.md'))));
  cpSync(join(files, 'README.md'), join(folder, 'README.md'));
  for (const file of ['LICENSE', 'README.md', 'CHANGELOG.md']) rmSync(join(files, file));
  const overrides = join(root, 'usr/share/lintian/overrides');
  mkdirSync(overrides, { recursive: true });
  cpSync(fileURLToPath(new URL('debian/lintian-overrides', import.meta.url)), join(overrides, 'svc'));
}

/**
 * @param {string} root
 * @param {{ version: string, description: string, maintainer: string }} about
 */
function writeControl(root, { version, description, maintainer }) {
  const control = join(root, 'DEBIAN');
  mkdirSync(control);
  const size = Math.ceil(sizeBelow(root) / 1024);
  const synopsis = description.split(':')[0] ?? description;
  writeFileSync(
    join(control, 'control'),
    `Package: svc
Version: ${version}
Architecture: all
Maintainer: ${maintainer}
Installed-Size: ${size}
Depends: nodejs (>= 20.19)
Recommends: git
Section: devel
Priority: optional
Description: ${synopsis.replace(/\.$/, '').replace(/^Runs/, 'run')}
 One file, svc.yaml, names the model, the tools and exactly what the agent may
 touch. Tools and model drivers are WebAssembly components; commands and
 programs are contained by the kernel. A running capsule takes tasks over HTTP
 and writes a trace of every step.
 .
 The package has svc, its artifact registry, its referee and svc-sandbox.
`,
  );
  // What svc and svc-sandbox compile on their first start is beside their files where root started it; one that was killed leaves a part of it.
  const caches = ['svc', 'svc-sandbox'].map((program) => `/${place}/dist/${program}.cjs.*.cache*`);
  writeFileSync(join(control, 'prerm'), `#!/bin/sh\nset -e\nrm -f ${caches.join(' ')}\n`, { mode: 0o755 });
}

/**
 * As Debian has them, whatever the mask of who builds.
 * @param {string} root
 */
function settleModes(root) {
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    else if (entry.isFile()) chmodSync(path, (statSync(path).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
  chmodSync(root, 0o755);
}

/** @param {string} root */
function sizeBelow(root) {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((total, entry) => total + readFileSync(join(entry.parentPath, entry.name)).length, 0);
}

/** @param {Buffer} bytes */
function zipped(bytes) {
  const zip = gzipSync(bytes, { level: 9 });
  // The operating system, which gzip records: unknown.
  zip[9] = 0xff;
  return zip;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [tarball, out] = process.argv.slice(2);
  if (tarball === undefined || out === undefined) {
    process.stderr.write(`usage: node scripts/${basename(process.argv[1])} <svc.tgz> <folder>\n`);
    process.exitCode = 2;
  } else process.stdout.write(`${join(out, makeDebianPackage(tarball, { out }))}\n`);
}
