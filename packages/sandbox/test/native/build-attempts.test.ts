import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { needs } from './support/needs.ts';

const script = new URL('../../../../scripts/build-native.mjs', import.meta.url).href;

let dist: string;
beforeEach((context) => {
  dist = mkdtempSync(join(tmpdir(), 'svc-dist-'));
  needs(context, 'compiler');
});
afterEach(() => {
  rmSync(dist, { recursive: true, force: true });
});

/** As ELF files number them. */
const machines = { x64: 62, arm64: 183 } as const;
const own = process.arch === 'arm64' ? machines.arm64 : machines.x64;
const cross =
  process.arch === 'x64'
    ? { compiler: 'aarch64-linux-gnu-gcc', architecture: 'arm64', machine: machines.arm64 }
    : { compiler: 'x86_64-linux-gnu-gcc', architecture: 'x64', machine: machines.x64 };

describe('the build of svc-attempts', () => {
  it.for([
    { compiler: 'cc', architecture: process.arch, machine: own },
    { compiler: 'clang', architecture: process.arch, machine: own },
    { compiler: 'musl-gcc', architecture: process.arch, machine: own },
    cross,
  ])('makes it without a warning with $compiler for $architecture', ({ compiler, architecture, machine }, context) => {
    context.skip(spawnSync(compiler, ['--version'], { stdio: 'ignore' }).status !== 0, `needs ${compiler}`);
    const code = `import { buildNative } from ${JSON.stringify(script)};
      console.log(buildNative(${JSON.stringify({ dist, architecture, program: 'svc-attempts' })}));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      env: { PATH: process.env['PATH'] ?? '', CC: compiler },
      encoding: 'utf8',
    });
    expect(stdout).toMatch(new RegExp(`^built svc-attempts for linux-${architecture} in \\d+ ms\n$`));
    const program = readFileSync(join(dist, 'native', `linux-${architecture}`, 'svc-attempts'));
    expect(program.readUInt16LE(18)).toBe(machine);
  });
});
