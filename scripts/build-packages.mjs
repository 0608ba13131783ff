// Builds the packages that are published, for programs that know nothing of this checkout: each `packages/<name>/src` becomes JavaScript and
// declarations in `packages/<name>/dist`, ready for `npm pack`. What has not changed is not built again.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { scope } from './own-names.mjs';
import { packedFiles, packPackage, tarballName } from './pack-package.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = join(root, 'node_modules', '.bin', 'tsc');

/** Lowest first: the declarations of one may name those of another. */
export const publishedPackages = ['protocol', 'client', 'guest', 'testing'];

/** The names of those that were built. */
export function buildPackages() {
  const built = publishedPackages.filter((name) => buildPackage(join(root, 'packages', name)));
  packGuest(built.includes('guest'));
  return built;
}

/** Puts the tarball of the guest beside the programs: `svc new` gives it to the folders that it makes. */
function packGuest(isBuilt) {
  const folder = join(root, 'packages', 'guest');
  const target = join(root, 'dist', 'guest');
  const path = join(target, tarballName(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))));
  if (!isBuilt && existsSync(path)) return;
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  writeFileSync(path, packPackage(folder));
}

function buildPackage(folder) {
  const source = join(folder, 'src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .sort();
  const inputs = digest([
    fileURLToPath(import.meta.url),
    join(root, 'tsconfig.json'),
    join(folder, 'package.json'),
    ...ownDependencies(folder).map((name) => join(root, 'packages', name, 'dist', '.inputs')),
    ...files.map((file) => join(source, file)),
    ...packedAsTheyAre(folder),
  ]);
  const target = join(folder, 'dist');
  const marker = join(target, '.inputs');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === inputs) return false;
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  emit(folder);
  for (const file of files.filter((name) => name.endsWith('.d.ts'))) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    copyFileSync(join(source, file), join(target, file));
  }
  withEmittedNames(target);
  // npm packs a licence that lies in the folder of the package alone.
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(marker, inputs);
  return true;
}

/** The files of a package that nothing is made of and that go into its tarball. */
function packedAsTheyAre(folder) {
  return packedFiles(folder)
    .filter((file) => !file.startsWith('dist/') && file !== 'LICENSE')
    .map((file) => join(folder, file));
}

/** The packages of this checkout that a package depends on, by their folders. */
function ownDependencies(folder) {
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return Object.keys(dependencies)
    .filter((name) => name.startsWith(scope))
    .map((name) => name.slice(scope.length));
}

/** The compiler reads its options from a file alone. Of another package it sees the declarations that were built before. */
function emit(folder) {
  const config = join(folder, 'dist', 'tsconfig.json');
  const options = {
    extends: '../../../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      allowImportingTsExtensions: false,
      rewriteRelativeImportExtensions: true,
      declaration: true,
      target: 'esnext',
      rootDir: '../src',
      outDir: '.',
      paths: Object.fromEntries(
        ownDependencies(folder).map((name) => [`${scope}${name}/*.ts`, [`../../${name}/dist/*.d.ts`]]),
      ),
    },
    include: ['../src'],
    exclude: ['../src/**/*.test.ts'],
  };
  writeFileSync(config, JSON.stringify(options));
  try {
    execFileSync(tsc, ['-p', config], { encoding: 'utf8' });
  } catch (error) {
    throw new Error(`${folder} cannot be built:\n${error.stdout}`, { cause: error });
  }
  rmSync(config);
}

/**
 * The compiler leaves names of other packages as they are here, where all are sources, and `./name.ts` in declarations, where the file beside is
 * `name.d.ts`.
 */
function withEmittedNames(target) {
  for (const file of readdirSync(target, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(?:js|d\.ts)$/.test(file)) continue;
    const text = readFileSync(join(target, file), 'utf8');
    const named = text
      .replaceAll(/((?:from|import\()\s*'\.[^']*)\.ts'/g, "$1.js'")
      .replaceAll(new RegExp(`((?:from|import\\()\\s*'${scope}[^']*)\\.ts'`, 'g'), "$1'");
    writeFileSync(join(target, file), named);
  }
}

function digest(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file.slice(root.length)).update(readFileSync(file));
  return hash.digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of buildPackages()) process.stdout.write(`built packages/${name}/dist\n`);
}
