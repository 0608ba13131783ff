// Builds everything that the package ships into dist/: the programs, the thread components run in, the compiler, the bundled
// artifacts, and the code cache of the start-up bundle. What has not changed is not built again.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { buildArtifacts } from './build-artifacts.mjs';
import { buildCodeCache, dropCodeCaches } from './build-code-cache.mjs';
import { buildComponents } from './build-components.mjs';
import { buildNative, nativePrograms } from './build-native.mjs';
import { lateBuiltinPrologue, lateChildProcess, withLateBuiltins } from './late-builtins.mjs';

/** Packages that are imported on demand become files of their own, in `dist/packages/`. */
const late = new Map();
const latePackages = {
  name: 'late-packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^.]/ }, ({ kind, path }) => {
      if (kind !== 'dynamic-import' || path.startsWith('node:')) return undefined;
      const file = `${path.replaceAll(/[^a-z0-9]+/gi, '-')}.cjs`;
      late.set(file, path);
      return { path: `./packages/${file}`, external: true };
    });
  },
};

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);

const { outputFiles: bundles } = await build({
  absWorkingDir: root,
  write: false,
  entryPoints: { svc: 'src/cli/main.ts', 'svc-registry': 'src/registry/main.ts' },
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
  plugins: [latePackages, lateChildProcess],
  // The bundle runs as a script with a code cache, in which only require() is at hand.
  supported: { 'dynamic-import': false },
  banner: { js: `${lateBuiltinPrologue}const importMetaUrl = require('node:url').pathToFileURL(__filename).href;` },
  define: { 'import.meta.url': 'importMetaUrl' },
});
await build({
  absWorkingDir: root,
  entryPoints: [...late].map(([file, path]) => ({ in: path, out: file.slice(0, -'.cjs'.length) })),
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
mkdirSync('dist', { recursive: true });
for (const { path, text } of bundles) {
  const code = withLateBuiltins(text);
  if (existsSync(path) && readFileSync(path, 'utf8') === code) continue;
  dropCodeCaches('dist');
  writeFileSync(path, code);
}
await buildComponents('dist');
for (const program of nativePrograms) {
  const line = buildNative('dist', process.arch, program);
  if (line !== null) process.stdout.write(`${line}\n`);
}
for (const { name, version, built, milliseconds } of await buildArtifacts()) {
  if (built) process.stdout.write(`built ${name} ${version} in ${milliseconds} ms\n`);
}
buildCodeCache('dist');
