// Builds the packages that are published, for programs that know nothing of this checkout: each `packages/<name>/src` becomes JavaScript and
// declarations in `packages/<name>/dist`, ready for `npm pack`. A package that is made of private ones brings them along in its own files. What
// has not changed is not built again.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildSync } from 'esbuild';

import { buildAllNative } from './build-native.mjs';
import { scope } from './own-names.mjs';
import { bundledNotice, helperNotice, renderNotices, witNotice } from './shipped-software.mjs';
import { packedFiles, packPackage, tarballName } from './pack-package.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
const tsc = join(root, 'node_modules', '.bin', 'tsc');

/** Lowest first: the declarations of one may name those of another. */
export const publishedPackages = ['protocol', 'client', 'sandbox', 'guest', 'testing', 'record', 'capsule'];

/**
 * The packages that are built into files of their own with what they import: their imports are needed to build them, and not to use them. `needs` are their dependencies all
 * the same: what their declarations name, and the program `svc`, which they run parts of.
 */
export const bundledPackages = {
  sandbox: {
    entries: { index: 'index.ts', program: 'program/main.ts' },
    types: 'index.ts',
    native: ['svc-launch'],
    needs: [],
  },
  record: { entries: { index: 'index.ts' }, types: 'index.ts', native: [], needs: ['@svc/protocol', 'zod'] },
  capsule: { entries: { index: 'index.ts' }, types: 'index.ts', native: [], needs: ['@svc/protocol', '@svc/svc'] },
};

/** What stands in every bundle for a package: the build of yaml for Node is of CommonJS, which cannot be shaken. */
export const replacedPackages = {
  yaml: join(root, 'node_modules', 'yaml', 'browser', 'dist', 'index.js'),
  // tuf-js asks through the client of `svc`; what it would ask with otherwise is ten times its size.
  'make-fetch-happen': join(root, 'scripts', 'no-own-connections.cjs'),
};

/** Gives CommonJS that is bundled into ES modules the `require` that it has for modules of Node. */
const requireOfNode = `import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);`;

/** The names of those that were built. */
export function buildPackages() {
  const built = publishedPackages.filter((name) => buildPackage(name));
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

function buildPackage(name) {
  const folder = join(root, 'packages', name);
  const bundle = bundledPackages[name] ?? null;
  const inputs = digest([
    fileURLToPath(import.meta.url),
    join(root, 'tsconfig.json'),
    join(root, 'scripts', 'shipped-software.mjs'),
    join(folder, 'package.json'),
    ...(bundle === null ? builtFrom(folder) : bundledFrom(folder, bundle)),
    ...packedAsTheyAre(folder),
  ]);
  const target = join(folder, 'dist');
  const marker = join(target, '.inputs');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === inputs) return false;
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  if (bundle === null) emitEach(folder);
  else emitBundle(folder, bundle);
  withEmittedNames(target);
  // npm packs a licence that lies in the folder of the package alone.
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  if (name === 'guest') writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), renderNotices([witNotice]));
  writeFileSync(marker, inputs);
  return true;
}

/** Beside `dist/`, what a build puts into the folder of a package. */
const made = new Set(['LICENSE', 'THIRD-PARTY-LICENSES']);

/** The files of a package that nothing is made of and that go into its tarball. */
function packedAsTheyAre(folder) {
  return packedFiles(folder)
    .filter((file) => !file.startsWith('dist/') && !made.has(file))
    .map((file) => join(folder, file));
}

function builtFrom(folder) {
  const built = ownDependencies(folder).map((name) => join(root, 'packages', name, 'dist', '.inputs'));
  return [...built, ...sourcesOf(folder)];
}

function bundledFrom(folder, { native }) {
  const folders = new Set([folder]);
  // A set is walked in the order of insertion, so what is added here is visited too.
  for (const each of folders) {
    const names = ['dependencies', 'devDependencies'].flatMap((kind) => ownDependencies(each, kind));
    for (const name of names.filter((own) => own !== 'svc')) folders.add(join(root, 'packages', name));
  }
  const others = [join(root, 'package-lock.json'), ...nativeFiles(native).map(({ from }) => from)];
  return [...[...folders].flatMap(sourcesOf), ...others];
}

/** The sources of a package, tests left out. */
function sourcesOf(folder) {
  return readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:ts|json)$/.test(file) && !file.endsWith('.test.ts'))
    .sort()
    .map((file) => join(folder, 'src', file));
}

/** The programs of the helper that a build put into `dist/native`, and where they are in a package. */
function nativeFiles(programs) {
  return ['linux-x64', 'linux-arm64']
    .flatMap((place) => programs.map((program) => join('native', place, program)))
    .map((file) => ({ from: join(root, 'dist', file), file }))
    .filter(({ from }) => existsSync(from));
}

/** The packages of this checkout that a package depends on, by their folders. */
function ownDependencies(folder, kind = 'dependencies') {
  const { [kind]: dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return Object.keys(dependencies)
    .filter((name) => name.startsWith(scope))
    .map((name) => name.slice(scope.length));
}

/** A file of JavaScript and one of declarations for each source. Of another package the compiler sees the declarations that were built before. */
function emitEach(folder) {
  const compilerOptions = {
    allowImportingTsExtensions: false,
    rewriteRelativeImportExtensions: true,
    target: 'esnext',
    rootDir: '../src',
    outDir: '.',
    paths: Object.fromEntries(
      ownDependencies(folder).map((name) => [`${scope}${name}/*.ts`, [`../../${name}/dist/*.d.ts`]]),
    ),
  };
  compile(folder, { compilerOptions, include: ['../src'], exclude: ['../src/**/*.test.ts'] });
  for (const source of sourcesOf(folder).filter((name) => name.endsWith('.d.ts'))) {
    const target = join(folder, 'dist', source.slice(join(folder, 'src').length));
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(source, target);
  }
}

/** A file of JavaScript for each entry, the declarations of one of them, and the programs that it starts. */
function emitBundle(folder, { entries, types, native, needs }) {
  const { metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, join(folder, 'src', file)])),
    outdir: join(folder, 'dist'),
    chunkNames: 'chunks/[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    legalComments: 'none',
    logLevel: 'warning',
    alias: replacedPackages,
    external: needs.flatMap((name) => (name.startsWith(scope) ? [] : [name, `${name}/*`])),
    metafile: true,
  });
  completeFiles(metafile);
  addLicences(folder, metafile, native.length === 0 ? [] : [helperNotice]);
  const compilerOptions = { emitDeclarationOnly: true, rootDir: '../..', outDir: 'declarations' };
  compile(folder, { compilerOptions, include: [], files: [`../src/${types}`] });
  takeDeclarations(folder, types);
  for (const { from, file } of nativeFiles(native)) {
    mkdirSync(dirname(join(folder, 'dist', file)), { recursive: true });
    copyFileSync(from, join(folder, 'dist', file));
  }
}

/** What esbuild leaves out of files in which CommonJS is: a `require`, and the names that such a module exports when it is imported on demand. */
function completeFiles({ outputs }) {
  for (const [file, { entryPoint, exports }] of Object.entries(outputs)) {
    const path = join(root, file);
    const text = readFileSync(path, 'utf8');
    const head = /\b__require\(/.test(text) ? `${requireOfNode}\n` : '';
    const isWhole = entryPoint?.includes('node_modules/') && exports.join() === 'default';
    const whole = isWhole ? withNames(text, Object.keys(require(join(root, entryPoint)))) : text;
    if (head !== '' || isWhole) writeFileSync(path, head + whole);
  }
}

/** The file of a module of CommonJS, with what that exports under names of their own too. */
function withNames(text, names) {
  const named = names.filter((name) => /^[a-z_$][\w$]*$/i.test(name) && name !== 'default');
  const whole = /export default (require_\w+\(\));/;
  if (!whole.test(text)) throw new Error('a module of CommonJS is exported in an unknown way');
  const list = named.map((name, index) => `own${index} as ${name}`).join(', ');
  const own = named.map((name, index) => `own${index} = whole.${name}`).join(', ');
  return text.replace(whole, (_all, made) => `const whole = ${made}, ${own};\nexport { whole as default, ${list} };`);
}

/** Gives the package the licences of what was bundled, and of what else is in it. */
function addLicences(folder, { outputs }, others) {
  const used = Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const files = used.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
  const names = files.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const notices = [...[...new Set(names)].sort().map(bundledNotice), ...others];
  const target = join(folder, 'THIRD-PARTY-LICENSES');
  if (notices.length === 0) rmSync(target, { force: true });
  else writeFileSync(target, renderNotices(notices));
}

/**
 * Keeps the declarations that users of an entry read. Throws where one names another package that is no dependency: no user has its
 * declarations.
 */
function takeDeclarations(folder, types) {
  const known = ownDependencies(folder).map((name) => `${scope}${name}/`);
  const emitted = join(folder, 'dist', 'declarations');
  const place = join(emitted, folder.slice(join(root, 'packages').length), 'src');
  const taken = new Set([types.replace(/\.ts$/, '.d.ts')]);
  for (const file of taken) {
    const text = readFileSync(join(place, file), 'utf8');
    for (const [, name] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)) {
      if (name.startsWith(scope) && !known.some((own) => name.startsWith(own)))
        throw new Error(`the declarations of ${folder} name ${name} in ${file}`);
      if (name.startsWith('.')) taken.add(join(dirname(file), name.replace(/\.ts$/, '.d.ts')));
    }
    mkdirSync(dirname(join(folder, 'dist', file)), { recursive: true });
    copyFileSync(join(place, file), join(folder, 'dist', file));
  }
  rmSync(emitted, { recursive: true });
}

/** The compiler reads its options from a file alone. */
function compile(folder, { compilerOptions, ...files }) {
  const config = join(folder, 'dist', 'tsconfig.json');
  const options = {
    extends: '../../../tsconfig.json',
    compilerOptions: { noEmit: false, declaration: true, ...compilerOptions },
    ...files,
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
  for (const line of buildAllNative(join(root, 'dist'))) process.stdout.write(`${line}\n`);
  for (const name of buildPackages()) process.stdout.write(`built packages/${name}/dist\n`);
}
