import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { beforeEach, describe, expect, it } from 'vitest';

import { listStored } from '../../src/store/list-stored.ts';
import { openStored } from '../../src/store/open-stored.ts';
import { findStored } from '../../src/store/store-layout.ts';
import { putArchive, type PutRequest } from '../../src/store/store-put.ts';
import { archiveBytes, codesOf, moduleBytes, skillFiles, temporaryDirectory, toolFiles } from './artifacts.ts';
import { bundleForNode } from './bundle.ts';
import { zipBytes } from './zip-bytes.ts';

const echo = { name: 'echo', version: '1.0.0' };
const host = 'linux-x86_64';

let root: string;
let directory: string;
beforeEach(() => {
  root = join(temporaryDirectory(), 'store');
  directory = join(root, 'echo', '1.0.0');
});

async function put(bytes: Buffer, more: Partial<PutRequest> = {}): Promise<string> {
  const stored = await putArchive({ root, chunks: [bytes], platform: null, from: 'a test', ...more });
  return stored.sha256;
}

async function tool(component: string): Promise<Buffer> {
  return await archiveBytes(toolFiles('echo', '1.0.0', component));
}

async function componentIn(): Promise<string> {
  const { archive } = await openStored(root, echo, host);
  const component = await archive.read('component.wasm');
  await archive.file.close();
  return component.subarray(8).toString();
}

/** Every file below the store, except for the store's own directories. */
function filesIn(place: string): string[] {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

describe('an archive that is taken in', () => {
  it('lies with its hash and its record in the directory of its name and version', async () => {
    const sha256 = await put(await tool('a'));
    expect(filesIn(directory)).toEqual(['echo-1.0.0.zip', 'echo-1.0.0.zip.meta.json', 'echo-1.0.0.zip.sha256']);
    expect(readFileSync(join(directory, 'echo-1.0.0.zip.sha256'), 'utf8')).toBe(`${sha256}  echo-1.0.0.zip\n`);
    expect(JSON.parse(readFileSync(join(directory, 'echo-1.0.0.zip.meta.json'), 'utf8'))).toEqual({
      meta_version: 1,
      name: 'echo',
      version: '1.0.0',
      platform: null,
      kind: 'tool',
      sha256,
      bytes: (await tool('a')).length,
      from: 'a test',
    });
    expect(filesIn(root)).toHaveLength(3);
  });

  it('serves its platform, or else as the generic one', async () => {
    const generic = await put(await tool('generic'));
    expect(findStored(root, echo, host)).toMatchObject({ platform: null, sha256: generic });
    const variant = await put(await tool('variant'), { platform: host });
    expect(findStored(root, echo, host)).toMatchObject({ platform: host, sha256: variant });
    expect(findStored(root, echo, 'darwin-aarch64')).toMatchObject({ platform: null, sha256: generic });
    expect(findStored(root, { ...echo, version: '1.0.1' }, host)).toBeNull();
  });

  it('takes the place of another one of the same version, and of a damaged one', async () => {
    await put(await tool('a'));
    await put(await tool('b'));
    expect(await componentIn()).toBe('b');
    writeFileSync(join(directory, 'echo-1.0.0.zip'), 'damaged');
    expect(await codesOf(openStored(root, echo, host))).toEqual(['E-ART-006']);
    await put(await tool('b'));
    expect(await componentIn()).toBe('b');
  });

  it('appears in the list with its kind', async () => {
    await put(await tool('a'));
    await put(await tool('a'), { platform: host });
    await put(await archiveBytes(skillFiles('style', 'Be brief.')));
    const capsule = 'name: worker\nversion: 2.0.0\ninference:\n  model: m\n';
    await put(await archiveBytes([{ name: 'svc.yaml', data: Buffer.from(capsule) }]));
    expect(listStored(root).map(({ name, version, platform, kind }) => [name, version, platform, kind])).toEqual([
      ['echo', '1.0.0', host, 'tool'],
      ['echo', '1.0.0', null, 'tool'],
      ['style', '1.0.0', null, 'skill'],
      ['worker', '2.0.0', null, 'capsule'],
    ]);
    expect(listStored(join(root, 'nothing'))).toEqual([]);
  });
});

describe('an archive that is not what it should be leaves nothing behind', () => {
  it.each([
    ['no zip', Buffer.from('hello'), 'E-ART-001'],
    ['a link in it', zipBytes([{ name: 'x', mode: 0o120777 }]), 'E-ART-002'],
    ['no manifest', zipBytes([{ name: 'echo/svc.yaml' }]), 'E-ART-004'],
    ['an invalid manifest', zipBytes([{ name: 'svc.yaml', data: Buffer.from('name: [') }]), 'E-MAN-002'],
    [
      'no component',
      zipBytes([{ name: 'svc.yaml', data: Buffer.from('name: echo\nversion: 1.0.0\nruntime: tool\n') }]),
      'E-ART-004',
    ],
    [
      'damage in a file that nobody reads',
      zipBytes([...toolFiles('echo'), { name: 'notes.txt', data: Buffer.from('x'), crc: 7 }]),
      'E-ART-001',
    ],
  ])('%s', async (_, bytes, code) => {
    expect(await codesOf(put(bytes))).toEqual([code]);
    expect(filesIn(root)).toEqual([]);
  });

  it('a module in the place of the component', async () => {
    const [manifest] = toolFiles('echo');
    const bytes = zipBytes([manifest ?? { name: 'svc.yaml' }, { name: 'component.wasm', data: moduleBytes }]);
    await expect(put(bytes)).rejects.toThrow('component.wasm is a WebAssembly module, not a component');
  });

  it('another artifact than was asked for', async () => {
    expect(await codesOf(put(await tool('a'), { expected: { name: 'echo', version: '2.0.0' } }))).toEqual([
      'E-ART-005',
    ]);
    expect(filesIn(root)).toEqual([]);
  });

  it('other bytes than their source announced', async () => {
    expect(await codesOf(put(await tool('a'), { sha256: '0'.repeat(64) }))).toEqual(['E-REG-002']);
    expect(filesIn(root)).toEqual([]);
  });

  it('a source that fails half way', async () => {
    const bytes = await tool('a');
    const chunks = (async function* () {
      yield bytes.subarray(0, 100);
      await Promise.reject(new Error('connection lost'));
    })();
    await expect(put(bytes, { chunks })).rejects.toThrow('connection lost');
    expect(filesIn(root)).toEqual([]);
  });

  it('a store whose directory for the artifact is a link out of it', async () => {
    const outside = temporaryDirectory();
    mkdirSync(root, { recursive: true });
    symlinkSync(outside, join(root, 'echo'));
    expect(await codesOf(put(await tool('a')))).toEqual(['E-IO-001']);
    expect(filesIn(outside)).toEqual([]);
  });
});

describe('what a killed writer left', () => {
  it('stays invisible to a reader, and the next writer overwrites it', async () => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'echo-1.0.0.zip'), 'half an arch');
    expect(findStored(root, echo, host)).toBeNull();
    writeFileSync(join(directory, 'echo-1.0.0.zip.sha256'), '');
    expect(findStored(root, echo, host)).toBeNull();
    rmSync(join(directory, 'echo-1.0.0.zip'));
    writeFileSync(join(directory, 'echo-1.0.0.zip.sha256'), `${'0'.repeat(64)}  echo-1.0.0.zip\n`);
    expect(findStored(root, echo, host)).toBeNull();
    expect(listStored(root)).toEqual([]);
    await put(await tool('a'));
    expect(await componentIn()).toBe('a');
  });

  it('goes once it is old', async () => {
    await put(await tool('a'));
    const twoHoursAgo = Date.now() / 1000 - 7200;
    writeFileSync(join(root, '.svc-tmp-old'), 'x');
    utimesSync(join(root, '.svc-tmp-old'), twoHoursAgo, twoHoursAgo);
    writeFileSync(join(root, '.svc-tmp-young'), 'x');
    await put(await tool('b'));
    expect(readdirSync(root).sort()).toEqual(['.svc-tmp-young', 'echo']);
  });

  it('leaves at any moment the old archive, the new one, or none, and never a damaged one', async () => {
    const script = await bundleForNode(new URL('put-loop.ts', import.meta.url));
    const [first, second] = [join(temporaryDirectory(), 'a.zip'), join(temporaryDirectory(), 'b.zip')];
    writeFileSync(first, await tool('a'.repeat(200_000)));
    writeFileSync(second, await tool('b'.repeat(300_000)));
    const met = new Set<string>();
    for (let round = 0; round < 25; round += 1) {
      const child = spawn(process.execPath, [script, root, first, second, '1000'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let lines = 0;
      for await (const _ of createInterface(child.stdout)) {
        lines += 1;
        // The kill falls somewhere into the put that follows.
        if (lines > round % 4) child.kill('SIGKILL');
      }
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      const met1 = findStored(root, echo, host) === null ? 'none' : (await componentIn()).slice(0, 1);
      expect(['none', 'a', 'b']).toContain(met1);
      met.add(met1);
      // Held by nobody now; the next writer would wait ten seconds to be sure of that.
      rmSync(join(directory, '.echo-1.0.0.zip.guard'), { force: true });
    }
    expect(met.has('a') || met.has('b')).toBe(true);
    await put(await tool('end'));
    expect(await componentIn()).toBe('end');
  }, 120_000);
});

it('several processes that write one version leave one of the archives whole', async () => {
  const script = await bundleForNode(new URL('put-loop.ts', import.meta.url));
  const [first, second] = [join(temporaryDirectory(), 'a.zip'), join(temporaryDirectory(), 'b.zip')];
  writeFileSync(first, await tool('a'.repeat(50_000)));
  writeFileSync(second, await tool('b'.repeat(70_000)));
  const children = [0, 1, 2, 3].map((index) => {
    const archives = index % 2 === 0 ? [first, second] : [second, first];
    return spawn(process.execPath, [script, root, ...archives, '15'], { stdio: ['ignore', 'ignore', 'inherit'] });
  });
  const ends = await Promise.all(children.map(async (child) => (await once(child, 'exit')) as [number]));
  expect(ends.map(([code]) => code)).toEqual([0, 0, 0, 0]);
  expect(['a', 'b']).toContain((await componentIn()).slice(0, 1));
  expect(filesIn(root)).toEqual(['echo-1.0.0.zip', 'echo-1.0.0.zip.meta.json', 'echo-1.0.0.zip.sha256']);
}, 60_000);
