import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { needs } from './support/needs.ts';

const script = new URL('../../../../scripts/build-native.mjs', import.meta.url).href;
const sources = fileURLToPath(new URL('../../../../native', import.meta.url));
const other = process.arch === 'x64' ? 'arm64' : 'x64';

let folder: string;
let native: string;
let dist: string;
beforeEach((context) => {
  needs(context);
  folder = mkdtempSync(join(tmpdir(), 'svc-dist-'));
  native = join(folder, 'native');
  dist = join(folder, 'dist');
  cpSync(sources, native, { recursive: true });
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What the build says, as a process of its own with that environment and nothing else. */
function build(env: Record<string, string>, architecture: string = process.arch): string | null {
  const request = JSON.stringify({ dist, architecture, native });
  const code = `import { buildNative } from ${JSON.stringify(script)}; console.log(JSON.stringify(buildNative(${request})));`;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    env,
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  return JSON.parse(stdout) as string | null;
}

function helper(architecture: string = process.arch): string {
  return join(dist, 'native', `linux-${architecture}`, 'svc-launch');
}

/** A change after which what is prebuilt is not of the sources. */
function changeSources(text = '\n'): void {
  appendFileSync(join(native, 'svc-launch', 'svc-launch.c'), text);
}

function compiler(name: string, does: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n[ "$1" = --version ] && exit 0\n${does}\n`);
  chmodSync(path, 0o755);
  return path;
}

const usual = { PATH: process.env['PATH'] ?? '' };
const nothing = { PATH: '/nowhere' };

describe('the build of the helper from sources that did not change', () => {
  it.each([process.arch, other])('takes what is prebuilt for %s, without a compiler', (architecture) => {
    expect(build(nothing, architecture)).toBe(`took svc-launch for linux-${architecture} from native/prebuilt`);
    const prebuilt = readFileSync(join(native, 'prebuilt', `linux-${architecture}`, 'svc-launch'));
    expect(readFileSync(helper(architecture))).toEqual(prebuilt);
    expect(statSync(helper(architecture)).mode & 0o777).toBe(0o755);
    const first = statSync(helper(architecture)).ino;
    expect(build(nothing, architecture)).toBeNull();
    expect(statSync(helper(architecture)).ino).toBe(first);
  });

  it('takes no prebuilt program with other bytes than are recorded', () => {
    const path = join(native, 'prebuilt', `linux-${process.arch}`, 'svc-launch');
    const bytes = readFileSync(path);
    bytes[5000] = (bytes[5000] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    expect(build(nothing)).toContain(
      `native/prebuilt/linux-${process.arch}/svc-launch is not what prebuilt.json records, and there is no C compiler\n`,
    );
    expect(existsSync(helper())).toBe(false);
  });

  it('compiles with the named compiler', (context) => {
    needs(context, 'compiler');
    expect(build({ ...usual, CC: 'cc' })).toMatch(/^built svc-launch for linux-\w+ in \d+ ms$/);
    expect(build({ ...usual, CC: 'cc' })).toBeNull();
    expect(build(usual)).toMatch(/^took svc-launch/);
  });
});

describe('the build of the helper from changed sources', () => {
  it('says what is missing without a compiler, and leaves no helper of other sources', () => {
    build(nothing);
    changeSources();
    expect(build(nothing)).toMatch(
      new RegExp(
        `^svc-launch for linux-${process.arch} is not built: its sources are not those of native/prebuilt, and there is no C compiler\n` +
          '.*\n.*apt-get install musl-tools',
      ),
    );
    expect(existsSync(helper())).toBe(false);
    build(nothing, other);
    expect(build(nothing, other)).toBe(
      `svc-launch for linux-${other} is left out: its sources are not those of native/prebuilt`,
    );
    expect(existsSync(helper(other))).toBe(false);
  });

  it('compiles a program that needs no loader, and compiles it again only when something changed', (context) => {
    needs(context, 'compiler');
    changeSources();
    expect(build(usual)).toMatch(/^built svc-launch for linux-\w+ in \d+ ms$/);
    expect(statSync(helper()).mode & 0o777).toBe(0o755);
    expect(programHeaderTypes(readFileSync(helper()))).not.toContain(interpreter);
    const first = statSync(helper()).ino;
    expect(build(usual)).toBeNull();
    expect(statSync(helper()).ino).toBe(first);
    changeSources();
    expect(build(usual)).toMatch(/^built/);
    expect(statSync(helper()).ino).not.toBe(first);
  });

  it('goes on when the compiler fails, and says what it said', () => {
    changeSources();
    const broken = compiler('broken-cc', 'echo no luck >&2\nexit 1');
    expect(build({ ...usual, CC: broken })).toBe(
      `svc-launch for linux-${process.arch} is not built: CC is ${broken}, and ${broken} failed\nno luck`,
    );
    expect(existsSync(helper())).toBe(false);
  });

  it('takes a compiler for musl before the one of the system, and a named one before both', () => {
    changeSources();
    const record = join(folder, 'compiled-by');
    for (const name of ['musl-gcc', 'cc', 'mine']) compiler(name, `echo ${name} > ${record}\nexit 1`);
    expect(build({ PATH: folder })).toContain('and musl-gcc failed\n');
    expect(readFileSync(record, 'utf8')).toBe('musl-gcc\n');
    build({ PATH: folder, CC: 'mine' });
    expect(readFileSync(record, 'utf8')).toBe('mine\n');
  });

  it('compiles without a warning for the other architecture', (context) => {
    const cross = process.arch === 'x64' ? 'aarch64-linux-gnu-gcc' : 'x86_64-linux-gnu-gcc';
    context.skip(spawnSync(cross, ['--version']).status !== 0, `needs ${cross}`);
    expect(build({ ...usual, CC: cross }, other)).toMatch(new RegExp(`^built svc-launch for linux-${other} in`));
    expect(readFileSync(helper(other)).readUInt16LE(18)).toBe(other === 'arm64' ? 183 : 62);
  });
});

const interpreter = 3;

/** The types of the program headers of a 64-bit ELF file. */
function programHeaderTypes(file: Buffer): number[] {
  const [offset, size, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(54), file.readUInt16LE(56)];
  return Array.from({ length: count }, (_, at) => file.readUInt32LE(offset + at * size));
}
