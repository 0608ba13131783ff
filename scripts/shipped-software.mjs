// @ts-check
// Lists the software of others that is in what we hand out, and under which terms: for THIRD-PARTY-LICENSES and for the list of a release.

import { readdirSync, readFileSync } from 'node:fs';

/** @typedef {{ name: string, version: string | null, license: string, text: string }} Notice */

const root = new URL('../', import.meta.url);

/** Development dependencies that `dist/` has a part of. */
const embeddedPackages = [
  '@bytecodealliance/jco-transpile',
  'componentize-qjs',
  'preact',
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
  'semver',
];

/** What comes inside those, under terms that they do not repeat. */
const embeddedParts = [
  // Its package has no file with its terms, which are those of its siblings from the same repository.
  { name: '@sigstore/verify', version: null, license: 'Apache-2.0', text: licenseOf('@sigstore/core') },
  part('quickjs-ng, the JavaScript engine of the bundled components', 'MIT and Unicode-3.0', 'quickjs-ng.txt'),
  part('rquickjs, its bindings', 'MIT', 'rquickjs.txt'),
  part('musl, in the C library of the bundled components and of the containment helper', 'MIT', 'musl.txt'),
  ofBytecodeAlliance(
    'WASI 0.2 interface definitions, wasi-libc, wit-component, wit-dylib, wizer and the Rust standard library',
  ),
];

/**
 * Everything that is built into the programs.
 * @returns {Notice[]}
 */
export function shippedSoftware() {
  return [...runtimePackages(), ...embeddedPackages.map(packageNotice), ...embeddedParts];
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
 * What is in the containment helper, for a package that brings it.
 * @type {Notice}
 */
export const helperNotice = part('musl, in the containment helper', 'MIT', 'musl.txt');

/**
 * The interfaces of others that the package for authors brings.
 * @type {Notice}
 */
export const witNotice = ofBytecodeAlliance('WASI 0.2.12 interface definitions, in wit/deps/wasi-*');

/**
 * Describes an installed package of which a bundle has a part.
 * @param {string} name
 * @returns {Notice}
 */
export function bundledNotice(name) {
  return embeddedParts.find((part) => part.name === name) ?? packageNotice(name);
}

/**
 * @param {string} name
 * @returns {Notice}
 */
function packageNotice(name) {
  const { version, license } = JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, root), 'utf8'));
  return { name, version, license: String(license).replaceAll(/^\(|\)$/g, ''), text: licenseOf(name) };
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
  return {
    name,
    version: null,
    license,
    text: readFileSync(new URL(`embedded-licenses/${file}`, import.meta.url), 'utf8'),
  };
}

/**
 * @param {string} name
 * @returns {Notice}
 */
function ofBytecodeAlliance(name) {
  const license = 'Apache-2.0 WITH LLVM-exception';
  return { name, version: null, license, text: licenseOf('@bytecodealliance/jco-transpile') };
}

/**
 * The text of THIRD-PARTY-LICENSES: one section for each text, naming all that are under it.
 * @param {readonly Notice[]} all
 */
export function renderNotices(all) {
  /** @type {Map<string, Notice[]>} */
  const byText = new Map();
  for (const notice of all) {
    const text = notice.text.replaceAll('\r\n', '\n').trim();
    byText.set(text, [...(byText.get(text) ?? []), notice]);
  }
  const sections = [...byText].map(([text, under]) =>
    [...under.map((notice) => `${spelt(notice)} (${notice.license})`), '', text].join('\n'),
  );
  const head = 'This package contains the software below.';
  return `${[head, ...sections].join(`\n\n${'='.repeat(100)}\n\n`)}\n`;
}

/** @param {Notice} notice */
function spelt({ name, version }) {
  return version === null ? name : `${name} ${version}`;
}
