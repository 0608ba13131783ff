// Bundles the process that components run in and the compiler that makes them runnable.
import { build } from 'esbuild';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const compilerEntry = fileURLToPath(import.meta.resolve('@bytecodealliance/jco-transpile/component'));
const compilerPackage = dirname(dirname(compilerEntry));

const common = {
  absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
};

/** Writes `component-process.cjs` and `compiler/` into `dist`. */
export async function buildComponents(dist) {
  mkdirSync(join(dist, 'compiler'), { recursive: true });
  await build({
    ...common,
    entryPoints: ['packages/components/src/guest/component-process.ts'],
    outfile: join(dist, 'component-process.cjs'),
    format: 'cjs',
  });
  await build({
    ...common,
    entryPoints: ['packages/components/src/compiler/compiler-process.ts'],
    outfile: join(dist, 'compiler', 'compiler-process.mjs'),
    format: 'esm',
    plugins: [ownWasi],
  });
  await build({
    ...common,
    entryPoints: ['packages/components/src/compiler/compiler.ts'],
    outfile: join(dist, 'compiler', 'compile-component.mjs'),
    format: 'esm',
  });
  copyCompilerFiles(join(dist, 'compiler'));
}

/** The compiler is a component too. It gets the WASI that every component gets, in place of the package it names. */
const ownWasi = {
  name: 'own-wasi',
  setup({ onResolve }) {
    const path = fileURLToPath(new URL('../packages/components/src/compiler/compiler-wasi.ts', import.meta.url));
    onResolve({ filter: /^@bytecodealliance\/preview2-shim\// }, () => ({ path }));
  },
};

function copyCompilerFiles(directory) {
  const vendor = dirname(compilerEntry);
  for (const name of readdirSync(vendor)) {
    if (/^js-component-bindgen-component\.core\d*\.wasm$/.test(name))
      copyFileSync(join(vendor, name), join(directory, name));
  }
  copyFileSync(join(compilerPackage, 'LICENSE'), join(directory, 'LICENSE'));
  const { name, version } = JSON.parse(readFileSync(join(compilerPackage, 'package.json'), 'utf8'));
  writeFileSync(join(directory, 'compiler.json'), `${JSON.stringify({ identity: `${name} ${version}` })}\n`);
}
