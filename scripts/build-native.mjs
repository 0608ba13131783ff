// Compiles the containment helper, native/svc-launch, and the attempts to break out of it, native/svc-attempts, into
// dist/native/linux-<architecture>/, when the sources of one or the way it is compiled changed. Without a C compiler there are none,
// and the runtime says what is left without them.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What is compiled, each from the folder of its name. */
export const nativePrograms = ['svc-launch', 'svc-attempts'];

const sourcesOf = (program) => fileURLToPath(new URL(`../native/${program}/`, import.meta.url));

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

/**
 * The first C compiler of this machine, or null. One for musl is preferred: glibc asks the processor for all it can do whenever a
 * program starts, which takes longer in a virtual machine than everything else that a launch does.
 */
export function findCompiler() {
  const names = [process.env['CC'] ?? '', 'musl-gcc', 'cc', 'gcc', 'clang'];
  return names.find((name) => name !== '' && spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0) ?? null;
}

/**
 * Builds a program below `dist`, for another architecture when `CC` names a cross compiler for it. Answers what there is to say about
 * it, or null when nothing changed.
 */
export function buildNative(dist, architecture = process.arch, program = 'svc-launch') {
  if (process.platform !== 'linux') return null;
  const folder = resolve(dist, 'native', `linux-${architecture}`);
  const output = join(folder, program);
  const hashFile = join(folder, `${program}.sources`);
  const hash = hashOfSources(program);
  if (existsSync(output) && existsSync(hashFile) && readFileSync(hashFile, 'utf8') === hash) return null;
  const compiler = findCompiler();
  // What is left from before is not what the sources say.
  if (compiler === null) {
    rmSync(output, { force: true });
    return `${program} is not built: there is no C compiler`;
  }
  mkdirSync(folder, { recursive: true });
  const started = performance.now();
  const problem = compile(compiler, program, output);
  if (problem !== null) {
    rmSync(output, { force: true });
    return `${program} is not built: ${compiler} failed\n${problem}`;
  }
  writeFileSync(hashFile, hash);
  return `built ${program} for linux-${architecture} in ${Math.round(performance.now() - started)} ms`;
}

/** Puts the program in its place in one step, so that whoever starts it meets the old one or the new one. */
function compile(compiler, program, output) {
  const fresh = `${output}.${process.pid}`;
  const files = sourceFiles(program).filter((name) => name.endsWith('.c'));
  const { status, stderr, error } = spawnSync(compiler, [...flags, '-o', fresh, ...files], {
    cwd: sourcesOf(program),
    encoding: 'utf8',
  });
  if (status === 0) {
    renameSync(fresh, output);
    return null;
  }
  rmSync(fresh, { force: true });
  return error?.message ?? stderr.trim();
}

function hashOfSources(program) {
  const hash = createHash('sha256').update(JSON.stringify([process.env['CC'] ?? '', ...flags]));
  for (const name of sourceFiles(program)) {
    hash.update(`\0${name}\0`).update(readFileSync(join(sourcesOf(program), name)));
  }
  return `${hash.digest('hex')}\n`;
}

function sourceFiles(program) {
  return readdirSync(sourcesOf(program))
    .filter((name) => /\.[ch]$/.test(name))
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const program of nativePrograms) {
    const line = buildNative(fileURLToPath(new URL('../dist', import.meta.url)), process.argv[2], program);
    process.stdout.write(`${line ?? `${program} is up to date`}\n`);
  }
}
