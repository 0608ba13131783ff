import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { bundledPackages, publishedPackages } from '../scripts/build-packages.mjs';
import { ownAliases, ownPath, scope } from '../scripts/own-names.mjs';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly engines: unknown;
  readonly exports?: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: unknown;
  readonly peerDependencies?: unknown;
  readonly scripts?: Readonly<Record<string, string>>;
}

const root = new URL('../', import.meta.url);
const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(new URL(`${folder}package.json`, root), 'utf8')) as Manifest;
const whole = readManifest('');
const names = readdirSync(new URL('packages/', root));

/** Folders that a package builds and leaves out of its tarball: what they import is installed here alone. */
const unshipped: Readonly<Record<string, string>> = { guest: 'provider/' };

/** The names of the packages that a package imports, tests and built-in modules left out: by the files that it ships, or by the others. */
function importedBy(name: string, isShipped: boolean): string[] {
  const folder = new URL(`packages/${name}/src/`, root);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      /\.tsx?$/.test(file) && !file.endsWith('.test.ts') && file.startsWith(unshipped[name] ?? '/') !== isShipped,
  );
  const specifiers = files.flatMap((file) => {
    const code = readFileSync(new URL(file, folder), 'utf8').replaceAll(/\/\*[^]*?\*\/|(?<!:)\/\/.*$/gm, '');
    return [...code.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)'([^.'][^']*)'/g)].map(([, specifier = '']) => specifier);
  });
  const imported = specifiers
    .filter((specifier) => !specifier.startsWith('node:'))
    .map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier)
    .filter((installed) => installed.startsWith(scope) || installed in versions);
  return [...new Set(imported)].sort();
}
const versions: Readonly<Record<string, string>> = whole.devDependencies ?? {};

it('svc, installed, needs no other package and runs nothing', () => {
  const { dependencies, optionalDependencies, peerDependencies, scripts } = whole;
  expect([dependencies, optionalDependencies, peerDependencies]).toEqual([undefined, undefined, undefined]);
  const ofInstall = /^(?:pre|post)?(?:install|prepare|publish|pack)$|^prepublishOnly$/;
  expect(Object.keys(scripts ?? {}).filter((script) => ofInstall.test(script))).toEqual([]);
});

describe('the packages', () => {
  it('match the table of names', () => {
    const places = names.map((name) => fileURLToPath(new URL(`packages/${name}/src/`, root)));
    expect(ownAliases.map(({ replacement }) => replacement).sort()).toEqual(places.sort());
  });

  it.each(names)('%s is found by its name, and has the version and the licence of all', (name) => {
    const manifest = readManifest(`packages/${name}/`);
    expect(ownPath(`${scope}${name}/a/b.ts`)).toBe(`packages/${name}/src/a/b.ts`);
    expect(manifest.name).toBe(`${scope}${name}`);
    if (!publishedPackages.includes(name)) expect(manifest.exports).toEqual({ './*': './src/*' });
    expect([manifest.version, manifest.license, manifest.engines]).toEqual([
      whole.version,
      whole.license,
      whole.engines,
    ]);
  });

  it.each(names)('%s depends on the packages that it imports, in the versions of all', (name) => {
    const { dependencies, devDependencies } = readManifest(`packages/${name}/`);
    const withVersion = (imported: string): [string, string | undefined] => [
      imported,
      imported.startsWith(scope) ? whole.version : versions[imported],
    ];
    const shipped = importedBy(name, true).map(withVersion);
    const here = importedBy(name, false).map(withVersion);
    const [used, built] = [dependencies ?? {}, devDependencies ?? {}].map((each) => Object.entries(each));
    const needs = (bundledPackages as Readonly<Record<string, { readonly needs: readonly string[] }>>)[name]?.needs;
    // What a published package is bundled with is needed to build it, and not to use it.
    if (needs !== undefined) {
      const bundled = [...shipped, ...here].filter(([imported]) => !needs.includes(imported));
      expect([used, built]).toEqual([needs.map(withVersion), bundled]);
    } else if (publishedPackages.includes(name)) expect([used, built]).toEqual([shipped, here]);
    else
      expect(Object.fromEntries([...(used ?? []), ...(built ?? [])])).toEqual(
        Object.fromEntries([...shipped, ...here]),
      );
  });
});

/** What `exports` promises: files of the package, or a name to its declarations and its code. */
type Exports = Readonly<Record<string, string | { readonly types: string; readonly default?: string }>>;

/** The files that a target with a star may mean. */
function filesOf(name: string, target: string): string[] {
  const modules = readdirSync(new URL(`packages/${name}/src/`, root)).filter((file) => /(?<!\.test)\.ts$/.test(file));
  return target.includes('*') ? modules.map((file) => target.replace('*', file.slice(0, -'.ts'.length))) : [target];
}

describe('a package that is published', () => {
  it.each(publishedPackages)('%s exports files that it has', (name) => {
    const exported = Object.values(readManifest(`packages/${name}/`).exports as Exports);
    const files = exported.flatMap((target) => (typeof target === 'string' ? [target] : Object.values(target)));
    const missing = files
      .flatMap((file) => filesOf(name, file))
      .filter((file) => !existsSync(new URL(`packages/${name}/${file}`, root)));
    expect(missing).toEqual([]);
  });

  it('guest exports what authors look for, and keeps to itself what the bundled drivers share', () => {
    expect(Object.keys(readManifest('packages/guest/').exports as Exports)).toEqual([
      './globals',
      './chunks',
      './clock',
      './driver',
      './hook',
      './http',
      './json',
      './log',
      './text',
      './tool',
      './wit-error',
      './package.json',
    ]);
  });
});

describe('a name', () => {
  it('in an installed package counts as foreign', () => {
    expect(ownPath('zod')).toBeNull();
    expect(ownPath('@modelcontextprotocol/client')).toBeNull();
  });
});
