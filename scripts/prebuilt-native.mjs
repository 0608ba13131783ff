// native/prebuilt: the C programs as they are handed on, static with musl, for both architectures, and prebuilt.json, which names the
// sources and the tools that they were compiled from and with, and the hash of each.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { architectures, compile, compilerFlags, hashOfSources, nativePrograms, ownNative } from './native-sources.mjs';

/** A compiler of Debian for each architecture, native or cross, with the musl of that architecture. */
const toolchains = {
  x64: { triple: 'x86_64-linux-gnu', musl: '/usr/lib/x86_64-linux-musl' },
  arm64: { triple: 'aarch64-linux-gnu', musl: '/usr/lib/aarch64-linux-musl' },
};

const packages = `On Debian, on x64:
  dpkg --add-architecture arm64 && apt-get update && apt-get install musl-tools gcc-aarch64-linux-gnu musl-dev:arm64`;

/** `{ path }` of the program, or `{ problem }`: a clause that says why what is prebuilt is not it. */
export function readPrebuilt({ native, architecture, program, sources }) {
  const record = readRecord(native);
  const entry = record?.programs[program];
  if (entry === undefined) return { problem: 'native/prebuilt is not there' };
  if (entry.sources !== sources) return { problem: 'its sources are not those of native/prebuilt' };
  const path = join(native, 'prebuilt', `linux-${architecture}`, program);
  if (!existsSync(path) || sha256(readFileSync(path)) !== entry[`linux-${architecture}`]) {
    return { problem: `native/prebuilt/linux-${architecture}/${program} is not what prebuilt.json records` };
  }
  return { path };
}

/** Compiles every program for every architecture into native/prebuilt. Throws, and changes nothing, when a compiler is missing or fails. */
export function makePrebuilt(native = ownNative) {
  const { record, files } = compileAll(native);
  for (const [path, bytes] of files) {
    mkdirSync(join(native, 'prebuilt', path, '..'), { recursive: true });
    writeFileSync(join(native, 'prebuilt', path), bytes, { mode: 0o755 });
  }
  writeFileSync(join(native, 'prebuilt', 'prebuilt.json'), `${JSON.stringify(record, null, 2)}\n`);
}

/** Compiles them again and throws, naming each that is not the same byte for byte. */
export function checkPrebuilt(native = ownNative) {
  const { record, files } = compileAll(native);
  const differing = [...files].filter(([path, bytes]) => !readFileSync(join(native, 'prebuilt', path)).equals(bytes));
  if (differing.length === 0) return;
  const recorded = JSON.stringify(readRecord(native)?.tools);
  const own = JSON.stringify(record.tools);
  const tools = recorded === own ? '' : `; compiled with ${recorded} and now with ${own}`;
  throw new Error(`native/prebuilt has other bytes for ${differing.map(([path]) => path).join(', ')}${tools}`);
}

/** What compiles for each architecture here, as prebuilt.json records it: the same tools give the same bytes. Returns null if one is missing. */
export function toolsHere() {
  const found = architectures.map((architecture) => {
    const { triple, musl } = toolchains[architecture];
    const [compiler, linker] = [`${triple}-gcc`, `${triple}-ld`].map(versionOf);
    const library = join(musl, 'libc.a');
    if (compiler === null || linker === null || !existsSync(library)) return null;
    return [`linux-${architecture}`, { compiler, linker, musl: sha256(readFileSync(library)) }];
  });
  return found.includes(null) ? null : Object.fromEntries(found);
}

/** What prebuilt.json holds, or null where it is not there. */
export function readRecord(native = ownNative) {
  const path = join(native, 'prebuilt', 'prebuilt.json');
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
}

function compileAll(native) {
  const tools = toolsHere();
  if (tools === null)
    throw new Error(`a compiler or musl for ${architectures.join(' or ')} is not installed. ${packages}`);
  const folder = mkdtempSync(join(tmpdir(), 'svc-prebuilt-'));
  try {
    const files = new Map();
    const programs = {};
    for (const program of nativePrograms) {
      programs[program] = { sources: hashOfSources(native, program) };
      for (const architecture of architectures) {
        const { triple, musl } = toolchains[architecture];
        const command = [`${triple}-gcc`, '-specs', join(musl, 'musl-gcc.specs')];
        const output = join(folder, `${architecture}-${program}`);
        const problem = compile({ command, native, program, output });
        if (problem !== null) throw new Error(`${program} for linux-${architecture} is not built:\n${problem}`);
        const bytes = readFileSync(output);
        programs[program][`linux-${architecture}`] = sha256(bytes);
        files.set(`linux-${architecture}/${program}`, bytes);
      }
    }
    return { record: { flags: compilerFlags.join(' '), tools, programs }, files };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The first line of what a tool says of its version, which names the package of the distribution; null where there is no such tool. */
function versionOf(tool) {
  const { status, stdout } = spawnSync(tool, ['--version'], { encoding: 'utf8' });
  return status === 0 ? (stdout.split('\n')[0] ?? null) : null;
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}
