// Builds everything that the package ships into dist/: the programs, the thread components run in, the compiler, the bundled
// artifacts, and the code cache of the start-up bundle. What has not changed is not built again. With --programs only what src/ is
// bundled into for the programs themselves, which has to be built before for the rest to be there. With --accept the hashes of the bundled
// artifacts are recorded in artifacts/sums.json, to which every build compares what it made.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { acceptSums, compareSums, readSums, renderDifferences } from './artifact-sums.mjs';
import { buildArtifacts } from './build-artifacts.mjs';
import { buildCodeCache, dropCodeCaches } from './build-code-cache.mjs';
import { buildComponents } from './build-components.mjs';
import { buildAllNative } from './build-native.mjs';
import { bundleStart } from './bundle-start.mjs';
import { lateBuiltinPrologue, lateChildProcess, withLateBuiltins } from './late-builtins.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);

/** Packages that are imported on demand, by their files in `dist/packages/`. */
const latePackages = new Map();
/** Makes of such an import one of that file, `directory` being the way to `dist/`. */
const packagesOnDemand = (directory) => ({
  name: 'packages-on-demand',
  setup({ onResolve }) {
    onResolve({ filter: /^[^.]/ }, ({ kind, path }) => {
      if (kind !== 'dynamic-import' || path.startsWith('node:')) return undefined;
      const file = `${path.replaceAll(/[^a-z0-9]+/gi, '-')}.cjs`;
      latePackages.set(file, path);
      return { path: `${directory}/packages/${file}`, external: true };
    });
  },
});

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
  // Names stay, for the sake of bug reports; keeping them beside minified ones would cost each start a call a function.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  // The start file runs as a script with a code cache, in which only require() is at hand.
  supported: { 'dynamic-import': false },
  banner: { js: lateBuiltinPrologue },
  define: { 'import.meta.filename': '__filename' },
  // The build for Node is of CommonJS, which cannot be shaken.
  alias: { yaml: join(root, 'node_modules', 'yaml', 'browser', 'dist', 'index.js') },
};
const [programs, servers] = await Promise.all([
  bundleStart({
    name: 'svc',
    entry: 'src/cli/main.ts',
    options: { ...options, plugins: [lateChildProcess] },
    sharedPackages: ['commander', 'picocolors'],
    packagesOnDemand,
  }),
  build({
    ...options,
    entryPoints: { 'svc-registry': 'src/registry/main.ts', 'svc-referee': 'src/referee/main.ts' },
    plugins: [packagesOnDemand('.')],
  }),
]);
await build({
  absWorkingDir: root,
  entryPoints: [...latePackages].map(([file, path]) => ({ in: path, out: file.slice(0, -'.cjs'.length) })),
  outdir: 'dist/packages',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
});
/** bin/svc.cjs reads it byte by byte, and names the code cache after the hash that it begins with. */
function startFile(code) {
  const odd = /[^\0-\x7f].{0,40}/u.exec(code);
  if (odd !== null) throw new Error(`the start file is not ASCII: ${odd[0]}`);
  return `/*${createHash('sha256').update(code).digest('hex').slice(0, 16)}*/${code}`;
}

mkdirSync(join('dist', 'late'), { recursive: true });
const bundles = [...programs, ...servers.outputFiles];
for (const { path, text } of bundles) {
  const isStart = basename(path) === 'svc.cjs';
  const code = isStart ? startFile(withLateBuiltins(text)) : withLateBuiltins(text);
  if (existsSync(path) && readFileSync(path, 'utf8') === code) continue;
  dropCodeCaches('dist');
  writeFileSync(path, code);
}
const lateFiles = new Set(bundles.map(({ path }) => basename(path)));
for (const file of readdirSync(join('dist', 'late'))) if (!lateFiles.has(file)) rmSync(join('dist', 'late', file));
if (!process.argv.includes('--programs')) await buildTheRest();
buildCodeCache('dist');

async function buildTheRest() {
  await buildComponents('dist');
  for (const line of buildAllNative('dist')) process.stdout.write(`${line}\n`);
  const artifacts = await buildArtifacts();
  for (const { name, version, built, milliseconds } of artifacts) {
    if (built) process.stdout.write(`built ${name} ${version} in ${milliseconds} ms\n`);
  }
  const sums = Object.fromEntries(artifacts.map(({ name, version, sha256 }) => [`${name}@${version}`, sha256]));
  if (process.argv.includes('--accept')) acceptSums(root, sums);
  const differences = renderDifferences(compareSums(readSums(root), sums));
  if (differences !== null) process.stderr.write(`${differences}\n`);
}
