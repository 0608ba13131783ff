// Puts the containment helper, native/svc-launch, and the attempts to break out of it, native/svc-attempts, into
// dist/native/linux-<architecture>/. They are taken from native/prebuilt where those were compiled from these sources; else, or with the
// compiler that CC names, they are compiled. Where neither is possible this says what is missing.
//   npm run build:native                 what npm run build does of it
//   npm run build:native -- --prebuilt   compiles native/prebuilt anew, for both architectures; commit it with a change of the sources
//   npm run build:native -- --check      compiles it again and compares the bytes
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { architectures, compile, hashOfSources, nativePrograms, ownNative } from './native-sources.mjs';
import { checkPrebuilt, makePrebuilt, readPrebuilt } from './prebuilt-native.mjs';

/**
 * The first C compiler of this machine, or null. One for musl is preferred: glibc asks the processor for all it can do whenever a
 * program starts, which takes longer in a virtual machine than everything else that a launch does.
 */
export function findCompiler() {
  const names = [process.env['CC'] ?? '', 'musl-gcc', 'cc', 'gcc', 'clang'];
  return names.find((name) => name !== '' && spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0) ?? null;
}

/**
 * Puts a program into `dist`; `native` is the folder with its sources and `prebuilt/`. Answers what there is to say about it, or null
 * when nothing changed. For another architecture than this machine's only what is prebuilt counts, unless `CC` names a cross compiler.
 */
export function buildNative({ dist, architecture = process.arch, program = 'svc-launch', native = ownNative }) {
  if (process.platform !== 'linux') return null;
  const folder = resolve(dist, 'native', `linux-${architecture}`);
  const place = { output: join(folder, program), note: join(folder, `${program}.sources`) };
  const sources = hashOfSources(native, program);
  const told = process.env['CC'] ?? '';
  const prebuilt =
    told === '' ? readPrebuilt({ native, architecture, program, sources }) : { problem: `CC is ${told}` };
  const origin = `${prebuilt.path === undefined ? `compiled ${told}` : 'prebuilt'} ${sources}\n`;
  if (existsSync(place.output) && existsSync(place.note) && readFileSync(place.note, 'utf8') === origin) return null;
  mkdirSync(folder, { recursive: true });
  const name = `${program} for linux-${architecture}`;
  if (prebuilt.path !== undefined) {
    replace(place.output, (fresh) => copyFileSync(prebuilt.path, fresh));
    writeFileSync(place.note, origin);
    return `took ${name} from native/prebuilt`;
  }
  // What is left from before is not what the sources say.
  rmSync(place.output, { force: true });
  if (told === '' && architecture !== process.arch) return `${name} is left out: ${prebuilt.problem}`;
  const compiler = findCompiler();
  if (compiler === null) return `${name} is not built: ${prebuilt.problem}, and there is no C compiler\n${advice}`;
  const started = performance.now();
  const problem = compile({ command: [compiler], native, program, output: place.output });
  if (problem !== null) return `${name} is not built: ${prebuilt.problem}, and ${compiler} failed\n${problem}`;
  writeFileSync(place.note, origin);
  return `built ${name} in ${Math.round(performance.now() - started)} ms`;
}

const advice = `  Programs are not contained without it. Restore native/ as it was committed, or install a C compiler and run npm run build again:
  Debian, Ubuntu: apt-get install musl-tools    Fedora: dnf install gcc glibc-static    Alpine: apk add build-base`;

/** Puts the program in its place in one step, so that each start meets the old one or the new one. */
function replace(output, write) {
  const fresh = `${output}.${process.pid}`;
  write(fresh);
  chmodSync(fresh, 0o755);
  renameSync(fresh, output);
}

/** Every program for every architecture; the lines that there are to say. Of what is handed on, a build on one machine has all. */
export function buildAllNative(dist) {
  return architectures
    .flatMap((architecture) => nativePrograms.map((program) => buildNative({ dist, architecture, program })))
    .filter((line) => line !== null);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--prebuilt')) makePrebuilt();
  if (process.argv.includes('--check')) checkPrebuilt();
  for (const line of buildAllNative(fileURLToPath(new URL('../dist', import.meta.url))))
    process.stdout.write(`${line}\n`);
}
