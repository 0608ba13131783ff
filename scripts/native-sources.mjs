// The C programs in native/: what there is, which sources and flags each is made of, and how one is compiled.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What is compiled, each from the folder of its name. */
export const nativePrograms = ['svc-launch', 'svc-attempts'];

/** The architectures of Linux that there is a helper for, as `process.arch` has them. */
export const architectures = ['x64', 'arm64'];
export const ownNative = fileURLToPath(new URL('../native', import.meta.url));

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
export const compilerFlags = [
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

/** Compiles a program with a compiler and its first arguments. Answers what the compiler said when it failed, else null. */
export function compile({ command: [compiler, ...options], native = ownNative, program, output }) {
  const files = sourceFiles(native, program).filter((name) => name.endsWith('.c'));
  const fresh = `${output}.${process.pid}`;
  const { status, stderr, error } = spawnSync(compiler, [...options, ...compilerFlags, '-o', fresh, ...files], {
    cwd: join(native, program),
    encoding: 'utf8',
  });
  if (status === 0) {
    renameSync(fresh, output);
    return null;
  }
  rmSync(fresh, { force: true });
  return error?.message ?? stderr.trim();
}

/** Returns the hash of the sources and of how they are compiled. */
export function hashOfSources(native, program) {
  const hash = createHash('sha256').update(JSON.stringify(compilerFlags));
  for (const name of sourceFiles(native, program)) {
    hash.update(`\0${name}\0`).update(readFileSync(join(native, program, name)));
  }
  return hash.digest('hex');
}

function sourceFiles(native, program) {
  return readdirSync(join(native, program))
    .filter((name) => /\.[ch]$/.test(name))
    .sort();
}
