// Builds every folder of artifacts/ that has a svc.yaml into dist/bundled/<name>/<version>/:
//   <name>-<version>.zip and its .sha256, as they would be published,
//   svc.yaml and manifest.json, the same as it was read and checked: a start opens no archive and reads no YAML for it,
//   and compiled/, the component as the host runs it, so that a start never needs the compiler; its core modules are read from the archive. Drivers have
//   none: the host runs their sources itself, and compiles one that a recording made with its component is played by.
// Nothing is done for an artifact whose inputs are those of its last build.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { build, transform } from 'esbuild';
import { parse } from 'yaml';

import { buildComponents } from './build-components.mjs';
import { builderFiles, componentizeSource, guestBundle } from './componentize.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'artifacts');
const guest = join(root, 'packages', 'guest');
const dist = join(root, 'dist');
const cache = join(root, 'node_modules', '.cache', 'svc');

/**
 * Needs `dist/compiler`, which `buildComponents` writes. Resolves to `{ name, version, sha256, built, milliseconds }` for each artifact: the
 * hash is that of its archive, `built` is false where nothing had changed.
 */
export async function buildArtifacts() {
  const tools = await loadTools();
  const folders = (await readdir(sources)).filter((name) => existsSync(join(sources, name, 'svc.yaml'))).sort();
  return await Promise.all(folders.map((folder) => buildArtifact(folder, tools)));
}

async function buildArtifact(folder, tools) {
  const started = performance.now();
  const manifest = await readFile(join(sources, folder, 'svc.yaml'));
  const { name, version, runtime } = parse(manifest.toString('utf8'));
  if (name !== folder) throw new Error(`artifacts/${folder}/svc.yaml is named ${name}`);
  const source = await bundleGuest(join(sources, folder, 'component.ts'));
  const inputs = digest([tools.digest, manifest, source]);
  const target = join(dist, 'bundled', name, version);
  const unchanged = (await textOrNull(join(target, '.inputs'))) === inputs;
  if (!unchanged) {
    const component = await componentOf(source, { world: runtime, toolsDigest: tools.componentDigest });
    await replaceDirectory(target, async (directory) => {
      const file = `${name}-${version}.zip`;
      await writeArtifact(directory, { file, manifest, component, tools });
      if (runtime !== 'driver') {
        const archive = { name: file, bytes: await readFile(join(directory, file)) };
        await tools.compileComponent(component, join(directory, 'compiled'), { archive, shorten });
      }
      await writeFile(join(directory, '.inputs'), inputs);
    });
  }
  await dropOtherVersions(join(dist, 'bundled', name), version);
  const sha256 = digestOfArchive(await readFile(join(target, `${name}-${version}.zip`)));
  return { name, version, sha256, built: !unchanged, milliseconds: Math.round(performance.now() - started) };
}

/** What earlier builds left would still be found by manifests that name it, in this checkout and in no other. */
async function dropOtherVersions(folder, version) {
  const others = (await readdir(folder)).filter((name) => name !== version && !/\.(new|old)-\d+$/.test(name));
  await Promise.all(others.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** A component of the same inputs is built once: building it again would take seconds and give the same bytes. */
async function componentOf(source, { world, toolsDigest }) {
  const path = join(cache, 'components', `${digest([toolsDigest, world, source])}.wasm`);
  const built = await readFile(path).catch(unlessAbsent);
  if (built !== undefined) return built;
  const component = await componentizeSource({ source, world });
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.${process.pid}`, component);
  await rename(`${path}.${process.pid}`, path);
  return component;
}

/** The script that links a component is read by machines alone. */
async function shorten(glue) {
  // esbuild would take the value of a script alone for unused.
  const start = 'export default';
  const { code } = await transform(`${start} ${glue}`, { minify: true, target: 'node20.19', legalComments: 'none' });
  if (!code.startsWith(start)) throw new Error('esbuild made something else of the script than an expression');
  return code.slice(start.length).trim();
}

/** One script for the guest's engine. */
async function bundleGuest(entryPoint) {
  const textCodec = join(guest, 'src', 'text-codec.ts');
  const { outputFiles } = await build({ ...guestBundle({ entryPoint, textCodec }), logLevel: 'warning' });
  return outputFiles[0].text;
}

async function writeArtifact(directory, { file, manifest, component, tools }) {
  const { sha256 } = await tools.writeArchive(join(directory, file), [
    { name: 'svc.yaml', data: manifest },
    { name: 'component.wasm', data: Buffer.from(component) },
  ]);
  await writeFile(join(directory, `${file}.sha256`), tools.encodeHashFile(sha256, file));
  await writeFile(join(directory, 'svc.yaml'), manifest);
  const parsed = tools.parseArtifactManifest(manifest.toString('utf8'), 'svc.yaml').manifest;
  await writeFile(join(directory, 'manifest.json'), JSON.stringify(parsed));
}

/** The directory is whole or as before: a build that is interrupted, or one beside it, leaves nothing half made. */
async function replaceDirectory(target, fill) {
  const fresh = `${target}.new-${process.pid}`;
  const old = `${target}.old-${process.pid}`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  await fill(fresh);
  await rename(target, old).catch(unlessAbsent);
  await rename(fresh, target);
  await rm(old, { recursive: true, force: true });
}

/** The archive writer and the compiler of `svc` itself, and a digest of everything an artifact depends on beside its sources. */
async function loadTools() {
  const writer = await bundleWriter();
  const compiler = join(dist, 'compiler');
  const wit = (await readdir(join(guest, 'wit'), { recursive: true })).filter((name) => name.endsWith('.wit')).sort();
  const componentFiles = [
    join(root, 'node_modules', 'componentize-qjs', 'package.json'),
    ...builderFiles,
    ...wit.map((name) => join(guest, 'wit', name)),
  ];
  const files = [
    ...componentFiles,
    writer,
    join(compiler, 'compile-component.mjs'),
    join(compiler, 'compiler-process.mjs'),
    join(compiler, 'compiler.json'),
    join(root, 'scripts', 'build-artifacts.mjs'),
  ];
  const { writeArchive, encodeHashFile, parseArtifactManifest } = await import(pathToFileURL(writer).href);
  const { compileComponent } = await import(pathToFileURL(join(compiler, 'compile-component.mjs')).href);
  return {
    writeArchive,
    encodeHashFile,
    parseArtifactManifest,
    compileComponent,
    componentDigest: await digestOf(componentFiles),
    digest: await digestOf(files),
  };
}

async function bundleWriter() {
  const outfile = join(cache, 'artifact-writer.mjs');
  const entry = [
    "export { writeArchive } from './packages/artifacts/src/store/archive-writer.ts';",
    "export { encodeHashFile } from './packages/artifacts/src/store/store-layout.ts';",
    "export { parseArtifactManifest } from './packages/artifacts/src/manifest/artifact-manifest.ts';",
  ];
  await mkdir(dirname(outfile), { recursive: true });
  await build({
    stdin: { contents: entry.join('\n'), resolveDir: root, loader: 'ts' },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'warning',
  });
  return outfile;
}

async function textOrNull(path) {
  return await readFile(path, 'utf8').catch(unlessAbsent);
}

/** Undefined for what is not there. */
function unlessAbsent(error) {
  if (error.code !== 'ENOENT') throw error;
}

async function digestOf(files) {
  return digest(await Promise.all(files.map((file) => readFile(file))));
}

function digest(parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}\n`).update(part);
  return hash.digest('hex');
}

function digestOfArchive(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.chdir(root);
  await buildComponents('dist');
  for (const { name, version, built, milliseconds } of await buildArtifacts()) {
    process.stdout.write(`${name} ${version} ${built ? `built in ${milliseconds} ms` : 'unchanged'}\n`);
  }
}
