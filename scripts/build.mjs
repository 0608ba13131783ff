// Builds everything that the package ships into dist/: the programs, the process components run in, the compiler, the bundled
// artifacts, and the code caches of the programs that start often. What has not changed is not built again. With --plan=<file> what is in which
// file is kept there, and where it is known already, only what holds a module that was changed since then is made again. With --accept the hashes of the bundled
// artifacts are recorded in artifacts/sums.json, to which every build compares what it made. With --without=<parts> it leaves out parts that not everybody needs.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build, transform } from 'esbuild';
import { minifySync } from 'oxc-minify';

import { acceptSums, compareSums, readSums, renderDifferences } from './artifact-sums.mjs';
import { buildArtifacts } from './build-artifacts.mjs';
import { buildCodeCaches, dropCodeCaches } from './build-code-cache.mjs';
import { buildComponents } from './build-components.mjs';
import { buildManPages } from './build-man.mjs';
import { buildAllNative } from './build-native.mjs';
import { buildPackages, replacedPackages } from './build-packages.mjs';
import { buildTrustRoot } from './build-trust-root.mjs';
import { buildViewer } from './build-viewer.mjs';
import { asFunction, bundleAgain, bundleStart } from './bundle-start.mjs';
import { lateBuiltinPrologue, lateChildProcess, withLateBuiltins } from './late-builtins.mjs';
import { ownPath } from './own-names.mjs';
import { leavingOut, partsLeftOut } from './parts.mjs';
import { spliceEngine } from './splice-engine.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);

const withoutParts = partsLeftOut(process.argv.slice(2));

/** Packages that are imported on demand, by their files in `dist/packages/`. */
const latePackages = new Map();
/** Large packages that no part has a copy of, however it imports them: by each of their names, the name of the file that has all of it. */
const wholePackages = new Map([
  ['@modelcontextprotocol/client', '@modelcontextprotocol/client'],
  ['@modelcontextprotocol/server', '@modelcontextprotocol/server'],
  ['@modelcontextprotocol/server/stdio', '@modelcontextprotocol/server'],
  ['ajv', 'ajv'],
  ['ajv/dist/2020.js', 'ajv'],
]);
/** The packages that are made of the same modules for the most part: what both use is in a file that both read. */
const sharing = new Set(['@modelcontextprotocol/client', '@modelcontextprotocol/server']);
/** Makes of such an import one of that file, `directory` being the way to `dist/`. */
const packagesOnDemand = (directory) => ({
  name: 'packages-on-demand',
  setup({ onResolve }) {
    onResolve({ filter: /^[^.]/ }, ({ kind, path }) => {
      const isLate = kind === 'dynamic-import' && !path.startsWith('node:') && ownPath(path) === null;
      const name = wholePackages.get(path) ?? (isLate ? path : undefined);
      if (name === undefined) return undefined;
      const file = `${name.replaceAll(/[^a-z0-9]+/gi, '-')}.cjs`;
      latePackages.set(file, name);
      return { path: `${directory}/packages/${file}`, external: true };
    });
  },
});

/** @param {string} text */
const usesProtocol = (text) => /@modelcontextprotocol\/|\bsdk\b/.test(text);

/**
 * Those exports of a library of the protocol that our sources have a word for. A third of each is for what nobody here does.
 * @param {string} name
 */
async function namesUsed(name) {
  const texts = readdirSync('packages', { recursive: true, encoding: 'utf8' })
    .filter((path) => /^[^/]+\/src\/.*(?<!\.test)\.ts$/.test(path))
    .map((path) => readFileSync(join('packages', path), 'utf8'))
    .filter(usesProtocol)
    .join('\n');
  const used = Object.keys(await import(name)).filter((each) => new RegExp(`\\b${each}\\b`).test(texts));
  return `{ ${used.join(', ')} }`;
}

/** The entry of the file of a package that has several names: all that it exports under any of them, or all of it that is used. */
const allNames = {
  name: 'all-names',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^/ }, ({ kind, path }) =>
      kind === 'entry-point' && wholePackages.has(path) ? { path, namespace: 'all-names' } : undefined,
    );
    onLoad({ filter: /^/, namespace: 'all-names' }, async ({ path }) => {
      const names = [...wholePackages].filter(([, whole]) => whole === path).map(([name]) => name);
      const exports = names.map(
        async (name) => `export ${sharing.has(path) ? await namesUsed(name) : '*'} from '${name}';`,
      );
      return { contents: (await Promise.all(exports)).join('\n'), resolveDir: root };
    });
  },
};

/** @type {import('esbuild').BuildOptions} */
const options = {
  absWorkingDir: root,
  write: false,
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  // Names of functions and classes stay, for the sake of bug reports: `withShortVariables` shortens those of variables alone.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  // The start file runs as a script with a code cache, in which only require() is at hand.
  supported: { 'dynamic-import': false },
  banner: { js: lateBuiltinPrologue },
  define: { 'import.meta.filename': '__filename', 'import.meta.leftOut': JSON.stringify(withoutParts.join()) },
  alias: replacedPackages,
};
/** What the programs read of the package's own manifest; the rest of it would be in the file that each start reads. */
const ownVersion = {
  name: 'own-version',
  setup: ({ onLoad }) => {
    const path = join(root, 'package.json');
    onLoad({ filter: /package\.json$/ }, (file) => {
      if (file.path !== path) return undefined;
      const { version } = JSON.parse(readFileSync(path, 'utf8'));
      return { contents: JSON.stringify({ version }), loader: 'json' };
    });
  },
};
const programs = {
  name: 'svc',
  entry: 'packages/svc/src/program/main.ts',
  options: { ...options, plugins: [lateChildProcess, ownVersion, ...leavingOut(withoutParts)] },
  sharedPackages: ['commander', 'picocolors', 'yaml'],
  // A capsule reads the first list once it listens, the second for its first task, the third for its first request to most models, and the fourth where it
  // has skills.
  readTogether: [
    ['packages/capsule/src/run/journal-keeper.ts'],
    [
      'packages/session/src/model/component-driver.ts',
      'packages/components/src/in-process/open-in-process.ts',
      'packages/capsule/src/stage/grant-usage.ts',
    ],
    ['packages/guest/src/provider/chat/chat-driver.ts', 'packages/kit/src/net/connections.ts'],
    [
      'packages/artifacts/src/store/kept-skills.ts',
      'packages/capsule/src/launch/skill-folders.ts',
      'packages/capsule/src/stage/session-skills.ts',
      'packages/session/src/tools/skills/skill-ceiling.ts',
    ],
  ],
  packagesOnDemand,
};
const bundleServers = async () => {
  const request = {
    ...options,
    metafile: true,
    plugins: [packagesOnDemand('.'), ownVersion, ...leavingOut(withoutParts)],
  };
  const made = await Promise.all([
    build({
      ...request,
      entryPoints: {
        'svc-registry': 'packages/registry/src/main.ts',
        'svc-referee': 'packages/referee/src/main.ts',
        'schema-thread': 'packages/session/src/tools/schema-thread-main.ts',
      },
    }),
    build({
      ...request,
      ...asFunction(options),
      entryPoints: { 'svc-sandbox': 'packages/sandbox/src/program/main.ts' },
    }),
  ]);
  return {
    modules: made.flatMap(({ metafile }) => Object.keys(metafile.inputs)),
    outputFiles: made.flatMap(({ outputFiles }) => outputFiles),
  };
};

/** @type {import('esbuild').BuildOptions} */
const packageOptions = {
  plugins: [allNames],
  alias: { '@modelcontextprotocol/client/_shims': join(root, 'scripts', 'no-schema-checks.mjs') },
  absWorkingDir: root,
  outdir: 'dist/packages',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
};

const planFile = process.argv.find((argument) => argument.startsWith('--plan='))?.slice('--plan='.length);
const known = planFile !== undefined && existsSync(planFile) ? JSON.parse(readFileSync(planFile, 'utf8')) : null;
const changed = known === null ? [] : changedSince(statSync(planFile).mtimeMs);
// What is used of a library decides what is in its file.
const isWhole =
  known === null || changed.some((path) => path.endsWith('.ts') && usesProtocol(readFileSync(path, 'utf8')));
const bundles = isWhole ? await bundleAll() : await bundleChanged();

async function bundleAll() {
  const [svc, servers] = await Promise.all([bundleStart(programs), bundleServers()]);
  await bundlePackages();
  if (planFile !== undefined) {
    writeFileSync(planFile, JSON.stringify({ svc: svc.plan, servers: servers.modules }));
  }
  return [...svc.files, ...servers.outputFiles];
}

async function bundleChanged() {
  const hasServers = changed.some((path) => known.servers.includes(path));
  const [svc, servers] = await Promise.all([
    bundleAgain(programs, { plan: known.svc, changed: changed.filter((path) => path.startsWith('packages/')) }),
    hasServers ? bundleServers() : { outputFiles: [] },
  ]);
  return [...svc, ...servers.outputFiles];
}

/** Sources that were written after this moment, in Unix milliseconds. */
function changedSince(ms) {
  return ['packages', 'artifacts', 'native'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((file) => `${folder}/${file}`)
      .filter((path) => {
        const status = statSync(path);
        return status.isFile() && status.mtimeMs > ms;
      }),
  );
}

/**
 * bin/svc.cjs reads a file byte by byte, and holds the code cache to the hash that it begins with. That of a program is also of the `late` files: it
 * names the cache, and what a start keeps for the next one.
 */
function hashed(path, code, late = []) {
  const odd = /[^\0-\x7f].{0,40}/u.exec(code);
  if (odd !== null) throw new Error(`${path} is not ASCII: ${odd[0]}`);
  const hash = createHash('sha256').update(code);
  for (const file of late) hash.update(readFileSync(join('dist', 'late', file)));
  return `/*${hash.digest('hex').slice(0, 16)}*/${code}`;
}

mkdirSync(join('dist', 'late'), { recursive: true });
/** A module that lies in another file, which knows it already: `e({"elsewhere:…"(e,t){t.exports=require("./….cjs")[`…`]}})`. */
const elsewhere =
  /\w+\(\{"elsewhere:[^"]*"\(\w+,(\w+)\)\{\1\.exports=(require\("[^"]+"\)(?:\.moduleOf\(`[^`]*`\)|\[`[^`]*`\]))\}\}\)/g;
const helperFile = 'module-helpers.cjs';
const helperNames = '__commonJS,__export,__toESM,__toCommonJS';
const helpers = await moduleHelpers();
if (known === null) {
  bundles.push({ path: join(root, 'dist', 'late', helperFile), text: `${helpers}module.exports={${helperNames}};` });
}
const startPath = join('dist', 'svc.cjs');
const isOf = (program) => (bundle) => basename(bundle.path) === `${program}.cjs`;
const isStart = isOf('svc');
for (const { path, text } of bundles.filter((bundle) => !isStart(bundle))) {
  const isChanged = writeChanged(path, hashed(path, finished(path, text)));
  if (isChanged && isOf('svc-sandbox')({ path })) dropCodeCaches('dist', 'svc-sandbox');
}
if (known === null) {
  const lateFiles = new Set(bundles.map(({ path }) => basename(path)));
  for (const file of readdirSync(join('dist', 'late'))) if (!lateFiles.has(file)) rmSync(join('dist', 'late', file));
}
const started = bundles.find(isStart)?.text;
const startCode =
  started === undefined ? readFileSync(startPath, 'utf8').replace(/^\/\*.*?\*\//, '') : finished(startPath, started);
// The cache is of the start file, which no server is a part of.
if (writeChanged(startPath, hashed(startPath, startCode, readdirSync(join('dist', 'late')).sort()))) {
  dropCodeCaches('dist', 'svc');
}
if (known === null || changed.some((path) => !/^packages\/(?!(?:components|guest)\/)/.test(path))) await buildTheRest();
if (known === null || changed.some((path) => path.startsWith('packages/viewer/'))) await buildViewer(root, 'dist');
buildCodeCaches('dist');
buildTrustRoot(root, 'dist');
if (known === null) buildManPages(root, { accept: process.argv.includes('--accept') });
if (planFile !== undefined) utimesSync(planFile, new Date(), new Date());

/** Leaves out what nothing reads: the function of files that load no builtin late, and what esbuild puts around a module of another file. */
function finished(path, text) {
  const isLate = path.includes('/late/') && basename(path) !== helperFile;
  const shared = isLate ? withSharedHelpers(text) : text;
  const code = withShortVariables(path, withLateBuiltins(shared)).replaceAll(elsewhere, '()=>$2');
  return /=lateModule\(/.test(code) ? code : code.replace(/^const lateModule=.*?};/, '');
}

/** The functions by which esbuild makes modules: nearly every late file would have a kilobyte of them. */
function withSharedHelpers(text) {
  const [before, after] = text.split(helpers, 2);
  if (after === undefined || /\b__(?:create|defProp|getOwn\w+|getProtoOf|hasOwnProp|copyProps)\b/.test(after))
    return text;
  return `${before}const{${helperNames}}=require("./${helperFile}");${after}`;
}

/** A fifth less to read for each start. bin/svc.cjs makes a function of each late file too, so what stands at its top is nobody else's; of the two servers it is neither. */
function withShortVariables(path, text) {
  const { code, errors } = minifySync(basename(path), text, {
    module: false,
    compress: false,
    mangle: {
      toplevel: /\/late\/|svc-re(?:feree|gistry)\.cjs$/.test(path),
      keepNames: { function: true, class: true },
    },
    codegen: { removeWhitespace: true },
  });
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path} cannot be shortened: ${error.message}`);
  // It writes escaped characters as they are.
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** As esbuild writes them in front of a late file: it is asked for one that needs all of them. */
async function moduleHelpers() {
  const contents = 'import made from "made"; export const use = made;';
  const made = {
    name: 'made',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^made$/ }, ({ path }) => ({ path, namespace: 'made' }));
      onLoad({ filter: /^/, namespace: 'made' }, () => ({ contents: 'module.exports = require("node:fs");' }));
    },
  };
  const { outputFiles } = await build({ ...options, banner: {}, plugins: [made], stdin: { contents } });
  const [found] =
    /^var __create=.*?__toCommonJS=.*?;(?=var )/s.exec(outputFiles[0].text.replace(/^"use strict";/, '')) ?? [];
  if (found === undefined) throw new Error('esbuild writes its functions for modules in another way');
  return found;
}

/** Whether the file held something else, or was not there. */
function writeChanged(path, code) {
  if (existsSync(path) && readFileSync(path, 'utf8') === code) return false;
  writeFileSync(path, code);
  return true;
}

async function bundlePackages() {
  const entriesOf = (isShared) =>
    [...latePackages]
      .filter(([, path]) => sharing.has(path) === isShared)
      .map(([file, path]) => ({ in: path, out: file.slice(0, -'.cjs'.length) }));
  const whole = await build({ ...packageOptions, entryPoints: entriesOf(false), format: 'cjs', write: false });
  // Only ES modules are split.
  const split = { entryPoints: entriesOf(true), format: 'esm', splitting: true, chunkNames: 'shared-[hash]' };
  const outputFiles = namedByContent((await build({ ...packageOptions, ...split, write: false })).outputFiles);
  mkdirSync(join('dist', 'packages'), { recursive: true });
  const made = new Set([...latePackages.keys(), ...outputFiles.map(({ path }) => basename(path))]);
  for (const file of readdirSync(join('dist', 'packages'))) {
    if (!made.has(file)) rmSync(join('dist', 'packages', file));
  }
  for (const { path, text } of whole.outputFiles) writeChanged(path, hashed(path, text));
  for (const { path, text } of outputFiles) {
    const { code } = await transform(text, { format: 'cjs', platform: 'node', target: 'node20.19', minify: true });
    writeChanged(path, hashed(path, code));
  }
}

/**
 * The shared files under names that follow from what is in them: those that esbuild gives follow from the folder of the checkout too.
 * @param {readonly { path: string, text: string }[]} files
 */
function namedByContent(files) {
  const given = /shared-[0-9A-Z]{8}/g;
  const names = new Map();
  for (const { path, text } of files) {
    const [name] = basename(path).match(given) ?? [];
    const hash = createHash('sha256').update(text.replaceAll(given, 'shared'));
    if (name !== undefined) names.set(name, `shared-${hash.digest('hex').slice(0, 8)}`);
  }
  if (new Set(names.values()).size < names.size) throw new Error('two shared files hold the same');
  const renamed = (text) => text.replaceAll(given, (name) => names.get(name) ?? name);
  return files.map(({ path, text }) => ({ path: join(dirname(path), renamed(basename(path))), text: renamed(text) }));
}

async function buildTheRest() {
  for (const line of buildAllNative('dist')) process.stdout.write(`${line}\n`);
  for (const name of buildPackages()) process.stdout.write(`built packages/${name}/dist\n`);
  await buildComponents('dist');
  const artifacts = await buildArtifacts();
  for (const { name, version, built, milliseconds } of artifacts) {
    if (built) process.stdout.write(`built ${name} ${version} in ${milliseconds} ms\n`);
  }
  spliceEngine('dist', join('packages', 'components', 'engine', 'engine.wasm'));
  const sums = Object.fromEntries(artifacts.map(({ name, version, sha256 }) => [`${name}@${version}`, sha256]));
  if (process.argv.includes('--accept')) acceptSums(root, sums);
  const differences = renderDifferences(compareSums(readSums(root), sums));
  if (differences !== null) process.stderr.write(`${differences}\n`);
}
