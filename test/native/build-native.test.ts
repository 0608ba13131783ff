import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { needs } from './support/needs.ts';

const script = new URL('../../scripts/build-native.mjs', import.meta.url).href;

let dist: string;
beforeEach((context) => {
  needs(context, 'compiler');
  dist = mkdtempSync(join(tmpdir(), 'svc-dist-'));
});
afterEach(() => {
  rmSync(dist, { recursive: true, force: true });
});

/** What the build says, as a process of its own with that environment and nothing else. */
function build(env: Record<string, string>, architecture = process.arch): string | null {
  const code = `import { buildNative } from ${JSON.stringify(script)};
    console.log(JSON.stringify(buildNative(${JSON.stringify(dist)}, ${JSON.stringify(architecture)})));`;
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

const usual = { PATH: process.env['PATH'] ?? '' };

describe('the build of the helper', () => {
  it('makes a program that needs no loader, and makes it again only when something changed', () => {
    expect(build(usual)).toMatch(/^built svc-launch for linux-\w+ in \d+ ms$/);
    expect(statSync(helper()).mode & 0o777).toBe(0o755);
    expect(programHeaderTypes(readFileSync(helper()))).not.toContain(interpreter);
    const first = statSync(helper()).ino;
    expect(build(usual)).toBeNull();
    expect(statSync(helper()).ino).toBe(first);
    writeFileSync(`${helper()}.sources`, 'of other sources\n');
    expect(build(usual)).toMatch(/^built/);
    expect(statSync(helper()).ino).not.toBe(first);
  });

  it('goes on without a compiler, and leaves no helper of other sources', () => {
    expect(build(usual)).toMatch(/^built/);
    writeFileSync(`${helper()}.sources`, 'of other sources\n');
    expect(build({ PATH: '/nowhere' })).toBe('svc-launch is not built: there is no C compiler');
    expect(existsSync(helper())).toBe(false);
  });

  it('goes on when the compiler fails, and says what it said', () => {
    const compiler = join(dist, 'broken-cc');
    writeFileSync(compiler, '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho no luck >&2\nexit 1\n');
    chmodSync(compiler, 0o755);
    expect(build({ ...usual, CC: compiler })).toBe(`svc-launch is not built: ${compiler} failed\nno luck`);
    expect(existsSync(helper())).toBe(false);
  });

  it('takes a compiler for musl before the one of the system, and the one it is told before both', () => {
    const record = join(dist, 'compiled-by');
    for (const name of ['musl-gcc', 'cc', 'mine']) {
      const compiler = join(dist, name);
      writeFileSync(compiler, `#!/bin/sh\n[ "$1" = --version ] && exit 0\necho ${name} > ${record}\nexit 1\n`);
      chmodSync(compiler, 0o755);
    }
    expect(build({ PATH: dist })).toBe('svc-launch is not built: musl-gcc failed\n');
    expect(readFileSync(record, 'utf8')).toBe('musl-gcc\n');
    build({ PATH: dist, CC: 'mine' });
    expect(readFileSync(record, 'utf8')).toBe('mine\n');
  });

  it('compiles without a warning for the other architecture', (context) => {
    const cross = process.arch === 'x64' ? 'aarch64-linux-gnu-gcc' : 'x86_64-linux-gnu-gcc';
    const other = process.arch === 'x64' ? 'arm64' : 'x64';
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
