// Compiles the containment helper, native/svc-launch, into dist/native/linux-<architecture>/, when its sources or the way they are
// compiled changed. Without a C compiler there is none, and the runtime says what is left without it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const sources = fileURLToPath(new URL('../native/svc-launch/', import.meta.url));

/** Every warning there is, each an error; what both compilers know. */
export const warningFlags = [
  '-Wall',
  '-Wextra',
  '-Wpedantic',
  '-Wconversion',
  '-Wsign-conversion',
  '-Wshadow',
  '-Wstrict-prototypes',
  '-Wmissing-prototypes',
  '-Wcast-align',
  '-Wcast-qual',
  '-Wformat=2',
  '-Wundef',
  '-Wvla',
  '-Wnull-dereference',
  '-Wswitch-enum',
  '-Werror',
];

// Static for more than convenience: the helper runs with the program's environment, which a loader would obey.
const flags = [
  '-std=c11',
  '-O2',
  ...warningFlags,
  '-U_FORTIFY_SOURCE',
  '-D_FORTIFY_SOURCE=2',
  '-fstack-protector-strong',
  '-fno-common',
  '-static',
  '-Wl,-z,relro,-z,now,-z,noexecstack',
  '-s',
];

/** The first C compiler of this machine, or null. */
export function findCompiler() {
  const names = [process.env['CC'] ?? '', 'cc', 'gcc', 'clang'];
  return names.find((name) => name !== '' && spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0) ?? null;
}

/**
 * Builds below `dist`, for another architecture when `CC` names a cross compiler for it. Answers what there is to say about it,
 * or null when nothing changed.
 */
export function buildNative(dist, architecture = process.arch) {
  if (process.platform !== 'linux') return null;
  const folder = resolve(dist, 'native', `linux-${architecture}`);
  const helper = join(folder, 'svc-launch');
  const hashFile = join(folder, 'svc-launch.sources');
  const hash = hashOfSources();
  if (existsSync(helper) && existsSync(hashFile) && readFileSync(hashFile, 'utf8') === hash) return null;
  const compiler = findCompiler();
  // What is left from before is not what the sources say.
  if (compiler === null) {
    rmSync(helper, { force: true });
    return 'svc-launch is not built: there is no C compiler';
  }
  mkdirSync(folder, { recursive: true });
  const started = performance.now();
  const problem = compile(compiler, helper);
  if (problem !== null) {
    rmSync(helper, { force: true });
    return `svc-launch is not built: ${compiler} failed\n${problem}`;
  }
  writeFileSync(hashFile, hash);
  return `built svc-launch for linux-${architecture} in ${Math.round(performance.now() - started)} ms`;
}

/** Puts the helper in its place in one step, so that whoever starts it meets the old one or the new one. */
function compile(compiler, helper) {
  const output = `${helper}.${process.pid}`;
  const files = sourceFiles().filter((name) => name.endsWith('.c'));
  const { status, stderr, error } = spawnSync(compiler, [...flags, '-o', output, ...files], {
    cwd: sources,
    encoding: 'utf8',
  });
  if (status === 0) {
    renameSync(output, helper);
    return null;
  }
  rmSync(output, { force: true });
  return error?.message ?? stderr.trim();
}

function hashOfSources() {
  const hash = createHash('sha256').update(JSON.stringify([process.env['CC'] ?? '', ...flags]));
  for (const name of sourceFiles()) hash.update(`\0${name}\0`).update(readFileSync(join(sources, name)));
  return `${hash.digest('hex')}\n`;
}

function sourceFiles() {
  return readdirSync(sources)
    .filter((name) => /\.[ch]$/.test(name))
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const line = buildNative(fileURLToPath(new URL('../dist', import.meta.url)), process.argv[2]);
  process.stdout.write(`${line ?? 'svc-launch is up to date'}\n`);
}
