// @ts-check
// Writes THIRD-PARTY-LICENSES: everything that is installed with the package or built into it, and under which terms.
// With --check it only compares, and exits with 1 when the file is not up to date.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** @typedef {{ name: string, license: string, text: string }} Notice */

const root = new URL('../', import.meta.url);
const target = new URL('THIRD-PARTY-LICENSES', root);

/** Development dependencies of which a part is built into `dist/`. */
const embeddedPackages = [
  '@bytecodealliance/jco-transpile',
  'componentize-qjs',
  'preact',
  '@preact/signals',
  '@preact/signals-core',
  '@sigstore/bundle',
  '@sigstore/core',
  '@sigstore/protobuf-specs',
  '@sigstore/tuf',
  'tuf-js',
  '@tufjs/models',
  '@tufjs/canonical-json',
  'minimatch',
  'brace-expansion',
  'balanced-match',
  'debug',
  'ms',
];

/** What comes inside those, under terms that they do not repeat. */
const embeddedParts = [
  // Its package has no file with its terms, which are those of its siblings from the same repository.
  { name: '@sigstore/verify', license: 'Apache-2.0', text: licenseOf('@sigstore/core') },
  part('quickjs-ng, the JavaScript engine of the bundled components', 'MIT and Unicode-3.0', 'quickjs-ng.txt'),
  part('rquickjs, its bindings', 'MIT', 'rquickjs.txt'),
  part('musl, in the C library of the bundled components and of the containment helper', 'MIT', 'musl.txt'),
  {
    name: 'WASI 0.2 interface definitions, wasi-libc, wit-component, wit-dylib, wizer and the Rust standard library',
    license: 'Apache-2.0 WITH LLVM-exception',
    text: licenseOf('@bytecodealliance/jco-transpile'),
  },
];

const notices = [...runtimePackages(), ...embeddedPackages.map(packageNotice), ...embeddedParts];
const rendered = render(notices);

if (!process.argv.includes('--check')) writeFileSync(target, rendered);
else if (readFileSync(target, 'utf8') !== rendered) {
  console.error('THIRD-PARTY-LICENSES is not up to date: run node scripts/third-party-licenses.mjs');
  process.exitCode = 1;
}

/** @returns {Notice[]} */
function runtimePackages() {
  /** @type {Record<string, { dev?: boolean, link?: boolean }>} */
  const packages = JSON.parse(readFileSync(new URL('package-lock.json', root), 'utf8')).packages;
  return Object.entries(packages)
    .filter(([path, entry]) => path.startsWith('node_modules/') && entry.dev !== true && entry.link !== true)
    .map(([path]) => packageNotice(path.slice('node_modules/'.length)));
}

/**
 * @param {string} name
 * @returns {Notice}
 */
function packageNotice(name) {
  const { version, license } = JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, root), 'utf8'));
  return { name: `${name} ${version}`, license: String(license).replaceAll(/^\(|\)$/g, ''), text: licenseOf(name) };
}

/** @param {string} name */
function licenseOf(name) {
  const folder = new URL(`node_modules/${name}/`, root);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry));
  if (file === undefined) throw new Error(`${name} carries no licence: find its text and add it to embedded-licenses`);
  return readFileSync(new URL(file, folder), 'utf8');
}

/**
 * @param {string} name
 * @param {string} license
 * @param {string} file
 * @returns {Notice}
 */
function part(name, license, file) {
  return { name, license, text: readFileSync(new URL(`embedded-licenses/${file}`, import.meta.url), 'utf8') };
}

/**
 * One section for each text, naming all that are under it.
 * @param {readonly Notice[]} all
 */
function render(all) {
  /** @type {Map<string, Notice[]>} */
  const byText = new Map();
  for (const notice of all) {
    const text = notice.text.replaceAll('\r\n', '\n').trim();
    byText.set(text, [...(byText.get(text) ?? []), notice]);
  }
  const sections = [...byText].map(([text, under]) =>
    [...under.map(({ name, license }) => `${name} (${license})`), '', text].join('\n'),
  );
  const head = 'This package contains, or is installed with, the software below.';
  return `${[head, ...sections].join(`\n\n${'='.repeat(100)}\n\n`)}\n`;
}
