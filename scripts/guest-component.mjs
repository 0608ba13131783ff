// Turns the TypeScript of one artifact into a WebAssembly component: bundleGuest(), then componentizeGuest().
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { componentize } from 'componentize-qjs';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const textCodec = join(root, 'artifacts', 'lib', 'text-codec.ts');

/**
 * One script for the guest's engine, which has neither a module resolver nor the globals of a browser,
 * and the WIT interfaces it imports, sorted.
 */
export async function bundleGuest(entryPoint) {
  const { outputFiles, metafile } = await build({
    entryPoints: [entryPoint],
    bundle: true,
    write: false,
    metafile: true,
    outfile: 'guest.js',
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2023',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
    external: ['svc:*', 'wasi:*'],
    inject: [textCodec],
  });
  const imports = metafile.outputs['guest.js'].imports.map(({ path }) => path);
  return { source: outputFiles[0].text, imports: [...new Set(imports)].sort() };
}

/** The component: its world holds the named export and exactly what the script imports, beside what the engine needs itself. */
export async function componentizeGuest({ source, imports }, exported) {
  const late = imports.some((name) => name.startsWith('wasi:http/'));
  const witPath = await mkdtemp(join(tmpdir(), 'svc-wit-'));
  try {
    await cp(join(root, 'wit', 'deps'), join(witPath, 'deps'), { recursive: true });
    const world = [...imports.map((name) => `import ${name};`), `export ${exported};`].join('\n');
    await writeFile(join(witPath, 'guest.wit'), `package svc:guest;\nworld guest {\n${world}\n}\n`);
    if (late) await renameEverywhere(witPath);
    const jsSource = late ? lateName(source) : source;
    const { component } = await componentize({ witPath, world: 'guest', jsSource, sync: true, optSize: true });
    return late ? restoreImportNames(component) : component;
  } finally {
    await rm(witPath, { recursive: true, force: true });
  }
}

// While componentize-qjs starts the engine to take its snapshot, it offers the WASI of a command and stands in for everything
// else; for wasi:http that fails, because the streams it shares with wasi:io then have two origins. So a guest that uses HTTP is
// built against the same interfaces under a package name nobody offers, and its import names are put right afterwards. The
// version is one below that of the engine's own imports, since no two imports may have one name; the host goes by the name alone.
const lateNamespace = 'late:';
const realNamespace = 'wasi:';
const realVersion = '0.2.12';
const lateVersion = '0.2.11';

function lateName(text) {
  return text.replaceAll(realNamespace, lateNamespace).replaceAll(realVersion, lateVersion);
}

async function renameEverywhere(directory) {
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    await writeFile(path, lateName(await readFile(path, 'utf8')));
  }
}

const preambleBytes = 8;
const importSection = 10;

/** Both namespaces are equally long, so that nothing moves: only the import sections of the component itself are touched. */
function restoreImportNames(component) {
  const bytes = Buffer.from(component);
  let at = preambleBytes;
  while (at < bytes.length) {
    const section = bytes[at];
    const { value: size, next } = readLeb128(bytes, at + 1);
    if (section === importSection) replaceIn(bytes.subarray(next, next + size), lateNamespace, realNamespace);
    at = next + size;
  }
  return bytes;
}

function replaceIn(bytes, from, to) {
  for (let at = bytes.indexOf(from); at !== -1; at = bytes.indexOf(from, at)) bytes.write(to, at);
}

function readLeb128(bytes, at) {
  let value = 0;
  for (let shift = 0, next = at; ; shift += 7, next += 1) {
    value += (bytes[next] & 0x7f) * 2 ** shift;
    if (bytes[next] < 0x80) return { value, next: next + 1 };
  }
}
