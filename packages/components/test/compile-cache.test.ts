import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { componentProcesses } from '../../../test/support/component-processes.ts';
import { canceledCall } from '../src/component.ts';
import { CompileCache, type ComponentSource } from '../src/compiler/compile-cache.ts';
import { compileComponent, Compiler } from '../src/compiler/compiler.ts';
import { seeTranspiled, type SeenTranspiled } from '../src/compiler/read-transpiled.ts';
import { ComponentInstance } from '../src/component-instance.ts';
import { type ComponentHost, createComponentHost } from '../src/component-host.ts';
import type { GivenCompiled } from '../src/exchange.ts';
import { componentSource, fixtureComponent } from './support/fixture-component.ts';
import { faultOf, noGrants, order, packageRoot, temporaryFolder, testHost } from './support/hosted-tool.ts';

// Compiling takes a second or so of a machine that does nothing else.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let source: ComponentSource;
let cache: ReturnType<typeof temporaryFolder>;
let hosts: ComponentHost[];

/** A cache in which the component is compiled. */
let warm: ReturnType<typeof temporaryFolder>;

beforeAll(async () => {
  source = await fixtureComponent('probe-tool');
  warm = temporaryFolder();
  await new CompileCache(warm.path, new Compiler(packageRoot)).load(source);
});

afterAll(() => warm.remove());

beforeEach(() => {
  cache = temporaryFolder();
  hosts = [];
});

afterEach(async () => {
  await Promise.all(hosts.map((host) => host.close()));
  cache.remove();
});

function newHost(): ComponentHost {
  const host = testHost(cache.path);
  hosts.push(host);
  return host;
}

async function run(from: ComponentSource, host = newHost()): Promise<string> {
  return order(host.open(from, noGrants), { op: 'echo' });
}

/** The cache of this test is as after a run. */
function compiledBefore(): void {
  cpSync(warm.path, cache.path, { recursive: true });
}

function kept(): string[] {
  return readdirSync(join(cache.path, 'components')).filter((name) => name.endsWith('.compiled'));
}

function keptFile(): string {
  return join(cache.path, 'components', kept()[0] ?? '');
}

/** Names the component by its hash alone, so that it runs only if it was compiled before. */
function withoutBytes(): ComponentSource {
  return { ...source, wasm: '/nowhere' };
}

describe('the compile cache', () => {
  it('compiles a component once for all later runs, and says so before it does', async () => {
    const told: string[] = [];
    const host = createComponentHost({ cacheDir: cache.path, packageRoot, onCompile: (name) => told.push(name) });
    hosts.push(host);
    await run(source, host);
    expect(kept().length).toBe(1);
    expect(await run(withoutBytes(), host)).toBe('{"op":"echo"}');
    expect(told).toEqual(['probe-tool']);
  });

  it('compiles once for callers that ask at the same time, in one process or two', async () => {
    const [one, two] = [newHost(), newHost()];
    const answers = await Promise.all([run(source, one), run(source, one), run(source, two)]);
    expect(answers).toEqual(answers.map(() => '{"op":"echo"}'));
    await Promise.all([one.close(), two.close()]);
    expect(readdirSync(join(cache.path, 'components')).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it.each([
    ['cut short', (path: string) => truncateSync(path, 100_000)],
    ['emptied', (path: string) => truncateSync(path, 0)],
    ['altered', (path: string) => alter(path)],
    ['replaced by another file', (path: string) => writeFileSync(path, 'not what was here')],
  ])('compiles again what was %s', async (_, damage) => {
    compiledBefore();
    const whole = readFileSync(keptFile());
    damage(keptFile());
    expect((await faultOf(run(withoutBytes()))).kind).toBe('unavailable');
    expect(await run(source)).toBe('{"op":"echo"}');
    expect(readFileSync(keptFile()).equals(whole)).toBe(true);
  });

  it('does not trust code of the engine that was altered', async () => {
    compiledBefore();
    const host = newHost();
    await order(host.open(source, noGrants), { op: 'echo' });
    // A session may end with its first call: the code is kept all the same.
    await host.close();
    const codeFiles = readdirSync(join(cache.path, 'components')).filter((name) => name.endsWith('.code'));
    expect(codeFiles.length).toBe(1);
    for (const name of codeFiles) alter(join(cache.path, 'components', name));
    expect(await run(source)).toBe('{"op":"echo"}');
  });

  it.each<readonly [string, (path: string) => unknown]>([
    [
      'is another by the time it is read',
      async (path: string) => {
        const other = await seenFile('other', await fixtureComponent('files-tool'));
        writeFileSync(path, readFileSync(other.path));
      },
    ],
    ['is gone by the time it is read', (path: string) => rmSync(path)],
    ['is a pipe by the time it is read', (path: string) => (rmSync(path), execFileSync('mkfifo', [path]))],
  ])('gives a process the component itself when its file %s', async (_, change) => {
    compiledBefore();
    const { path, digest } = await seenFile('kept', source);
    await change(path);
    const asked: boolean[] = [];
    const instance = instanceOf(async (whole) => {
      asked.push(whole);
      const { glue, imports, modules } = await new CompileCache(cache.path, new Compiler(packageRoot)).load(source);
      return { kind: whole ? 'whole' : 'file', seen: { path, digest }, component: { glue, imports, modules } };
    });
    await instance.prepare();
    await instance.link(undefined);
    expect(asked).toEqual([false, true]);
    await ended(instance);
  });

  it('ends a process that takes neither the file nor the component itself', async () => {
    const seen = { path: join(cache.path, 'nowhere'), digest: '' };
    const instance = instanceOf(async () => ({ kind: 'file', seen }));
    await expect(instance.prepare()).rejects.toMatchObject({ kind: 'unavailable' });
    await ended(instance);
  });

  it('leaves no file of it open in the process', async () => {
    compiledBefore();
    const tool = newHost().open(withoutBytes(), noGrants);
    await order(tool, { op: 'echo' });
    const files = componentProcesses().flatMap((pid) =>
      readdirSync(`/proc/${pid}/fd`).map((fd) => unlessRefused(() => readlinkSync(`/proc/${pid}/fd/${fd}`), '')),
    );
    expect(files.length).toBeGreaterThan(3);
    expect(files.filter((file) => file.startsWith('/') && !file.startsWith('/dev/'))).toEqual([]);
    await tool.close();
  });

  it('may be missing where it cannot be written', async () => {
    writeFileSync(join(cache.path, 'components'), 'a file where the directory would be');
    expect(await run(source)).toBe('{"op":"echo"}');
  });

  it('refuses bytes that do not have the hash', async () => {
    const other = { ...source, sha256: createHash('sha256').update('other').digest('hex') };
    const fault = await faultOf(run(other));
    expect({ kind: fault.kind, message: fault.message }).toEqual({
      kind: 'unavailable',
      message: 'the component of probe-tool cannot be used: its bytes do not have the expected SHA-256',
    });
    expect((await faultOf(run({ ...source, sha256: '../../escape' }))).kind).toBe('unavailable');
  });

  it.each([
    ['nothing', new Uint8Array(0)],
    ['text', Buffer.from('(component)')],
    ['a core module', Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00])],
    ['the beginning of a component', Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00, 0xff, 0xff])],
  ])('refuses %s', async (_, bytes) => {
    const fault = await faultOf(run(componentSource('broken', bytes)));
    expect(fault.kind).toBe('unavailable');
    expect(fault.message).toMatch(/^the component of broken cannot be used: /);
  });

  it('refuses a component that was cut short', async () => {
    const whole = source.wasm as Uint8Array;
    const fault = await faultOf(run(componentSource('broken', whole.subarray(0, whole.length - 1000))));
    expect(fault.kind).toBe('unavailable');
  });

  it('refuses a component that needs more memory than it may have', async () => {
    const small = newHost().open(source, { ...noGrants, maxMemoryBytes: 1024 * 1024 });
    const fault = await faultOf(order(small, { op: 'echo' }));
    expect({ kind: fault.kind, message: fault.message }).toEqual({
      kind: 'unavailable',
      message: expect.stringMatching(/^the component cannot start: it needs \d+ KiB of memory and may have 1024 KiB$/),
    });
  });
});

describe('a component that was compiled ahead', () => {
  it('runs without its bytes, a cache or the compiler', async () => {
    const precompiledDir = join(cache.path, 'ahead');
    await compileComponent(source.wasm as Uint8Array, precompiledDir);
    const noCompiler = join(cache.path, 'package');
    mkdirSync(join(noCompiler, 'dist'), { recursive: true });
    writeFileSync(
      join(noCompiler, 'dist', 'component-process.cjs'),
      readFileSync(join(packageRoot, 'dist', 'component-process.cjs')),
    );
    const host = createComponentHost({ cacheDir: join(cache.path, 'cache'), packageRoot: noCompiler });
    hosts.push(host);
    expect(await run({ ...withoutBytes(), precompiledDir }, host)).toBe('{"op":"echo"}');
  });

  it('takes its core modules from the archive beside it, and does without one that is gone or another', async () => {
    const precompiledDir = join(cache.path, 'versions', 'compiled');
    const bytes = Buffer.concat([Buffer.from('PK'), source.wasm as Uint8Array]);
    const archive = join(cache.path, 'versions', 'x-1.0.0.zip');
    await compileComponent(source.wasm as Uint8Array, precompiledDir, { archive: { name: 'x-1.0.0.zip', bytes } });
    writeFileSync(archive, bytes);
    expect(statSync(join(precompiledDir, 'component.compiled')).size).toBeLessThan(bytes.length / 2);
    expect(await run({ ...withoutBytes(), precompiledDir })).toBe('{"op":"echo"}');
    alter(archive);
    expect((await faultOf(run({ ...withoutBytes(), precompiledDir }))).kind).toBe('unavailable');
    rmSync(archive);
    expect(await run({ ...source, precompiledDir })).toBe('{"op":"echo"}');
  });

  it('compiles anew when the compiled form is of another component or damaged', async () => {
    const precompiledDir = join(cache.path, 'ahead');
    await compileComponent((await fixtureComponent('files-tool')).wasm as Uint8Array, precompiledDir);
    expect(await run({ ...source, precompiledDir })).toBe('{"op":"echo"}');
    alter(join(precompiledDir, 'component.compiled'));
    expect(await run({ ...source, precompiledDir })).toBe('{"op":"echo"}');
  });

  it('fails when it is no component', async () => {
    await expect(compileComponent(Buffer.from('no'), join(cache.path, 'ahead'))).rejects.toThrow(
      'the component cannot be compiled: it is not a WebAssembly component',
    );
  });
});

/** A compiled form on its own, as a session has seen it. */
async function seenFile(name: string, { wasm }: ComponentSource): Promise<SeenTranspiled> {
  const directory = join(cache.path, name);
  await compileComponent(wasm as Uint8Array, directory);
  const seen = seeTranspiled(join(directory, 'component.compiled'), null);
  if (seen === null) throw new Error('what was compiled is there');
  return seen;
}

function instanceOf(compiled: (whole: boolean) => Promise<object>): ComponentInstance {
  return new ComponentInstance({
    packageRoot,
    outbound: { grants: { mayReach: () => false } },
    preopens: [],
    mode: { kind: 'live' },
    maxMemoryBytes: noGrants.maxMemoryBytes,
    load: async (whole) => ({
      compiled: (await compiled(whole)) as GivenCompiled,
      codePath: '/nowhere',
      env: {},
      tellsOutput: false,
      seed: [0n, 0n],
    }),
    onCode: () => {},
  });
}

async function ended(instance: ComponentInstance): Promise<void> {
  instance.end(canceledCall());
  await instance.ended();
}

function alter(path: string): void {
  const bytes = readFileSync(path);
  const middle = Math.floor(bytes.length / 2);
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 0xff, middle);
  chmodSync(path, 0o644);
  writeFileSync(path, bytes);
}
