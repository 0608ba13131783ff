import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { canceledCall } from '../src/component.ts';
import { ComponentInstance, type Loading } from '../src/component-instance.ts';
import { encodeMessage } from '../src/message-bytes.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-broken-'));
mkdirSync(join(root, 'dist'));
afterAll(() => rmSync(root, { recursive: true }));

const loading: Loading = {
  compiled: { kind: 'whole', component: { glue: '', imports: [], modules: [] } },
  codePath: '/nowhere',
  env: {},
  tellsOutput: false,
  seed: [0n, 0n],
};

/** An instance whose process is no longer ours: it writes these bytes, and stays. */
async function compileIn(written: Buffer): Promise<void> {
  await compileBy(writing(written));
}

function writing(written: Buffer): string {
  return `require('node:fs').writeSync(3, Buffer.from('${written.toString('base64')}', 'base64')); setTimeout(() => {}, 60_000);`;
}

/** The same, of a process that runs this program. */
async function compileBy(program: string): Promise<void> {
  const instance = instanceBy(program);
  try {
    await instance.prepare();
  } finally {
    await instance.ended();
  }
}

function instanceBy(program: string): ComponentInstance {
  writeFileSync(join(root, 'dist', 'component-process.cjs'), program);
  return new ComponentInstance({
    packageRoot: root,
    outbound: { grants: { mayReach: () => false } },
    preopens: [],
    mode: { kind: 'live' },
    maxMemoryBytes: 1024 * 1024,
    load: () => Promise.resolve(loading),
    onCode: () => {},
  });
}

const open = {
  operation: 'open',
  head: {
    method: 'GET',
    scheme: 'https',
    authority: 'a.example',
    pathWithQuery: '/',
    headers: [['x', 'text where bytes belong']],
    connectTimeoutMs: null,
    firstByteTimeoutMs: null,
    betweenBytesTimeoutMs: null,
  },
  body: { bytes: new Uint8Array(), finished: true },
};

describe('a process that has done more than its session has heard of', () => {
  const compiled = encodeMessage({ kind: 'compiled' });

  it('makes its instance ready once', async () => {
    const instance = instanceBy(writing(Buffer.concat([compiled, encodeMessage({ kind: 'ready' })])));
    await instance.prepare();
    await expect(instance.link(undefined)).resolves.toBeUndefined();
    instance.end(canceledCall());
    await instance.ended();
  });

  it('ends its instance with what it failed with', async () => {
    const unusable = encodeMessage({ kind: 'unusable', reason: 'no such import' });
    const instance = instanceBy(writing(Buffer.concat([compiled, unusable])));
    await instance.prepare();
    await expect(instance.link(undefined)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the component cannot start: no such import',
    });
    await instance.ended();
  });
});

describe('a component’s process that was taken over', () => {
  it.each([
    null,
    7,
    [],
    {},
    { kind: 'toString' },
    { kind: 'unusable' },
    { kind: 'trapped', fault: 'other', message: '' },
    { kind: 'posted', name: 'svc:text/chunks@0.1.0#emit-chunk', args: [{}] },
    { kind: 'posted', name: 'a' },
    { kind: 'asked', name: 'svc:task/task@0.1.0#request-input', args: 7 },
    { kind: 'code-cache', data: 'text' },
    { kind: 'remote', request: null },
    { kind: 'remote', request: { operation: 'open' } },
    { kind: 'remote', request: open },
    { kind: 'remote', request: { operation: 'write', exchange: 1, bytes: [1] } },
    { kind: 'remote', request: { operation: 'wait', waits: [null], timeoutMs: null, takes: true } },
    { kind: 'remote', request: { operation: 'wait', waits: [], timeoutMs: null } },
    { kind: 'remote', request: { operation: 'constructor' } },
  ])('ends alone when it sends %j', async (message) => {
    await expect(compileIn(encodeMessage(message))).rejects.toMatchObject({
      kind: 'trap',
      message: 'unknown message from the component',
    });
  });

  it('ends alone when what it sends is no value at all', async () => {
    const nonsense = Buffer.from('\0\0\0\0nonsense');
    nonsense.writeUInt32LE(8);
    await expect(compileIn(nonsense)).rejects.toMatchObject({ kind: 'trap' });
  });

  it('ends though it has stopped the shell that watches over it', async () => {
    const nonsense = encodeMessage({}).toString('base64');
    await expect(
      compileBy(`
        process.kill(process.ppid, 'SIGSTOP');
        require('node:fs').writeSync(3, Buffer.from('${nonsense}', 'base64'));
        setTimeout(() => {}, 60_000);
      `),
    ).rejects.toMatchObject({ kind: 'trap' });
  });

  it('goes free when it has left its group as well', async () => {
    const nonsense = encodeMessage({}).toString('base64');
    await expect(
      compileBy(`
        const { spawn } = require('node:child_process');
        spawn('/bin/sleep', ['20'], { detached: true, stdio: ['ignore', 'ignore', 'inherit', 3] });
        process.kill(process.ppid, 'SIGSTOP');
        require('node:fs').writeSync(3, Buffer.from('${nonsense}', 'base64'));
        setTimeout(() => {}, 60_000);
      `),
    ).rejects.toMatchObject({ kind: 'trap' });
  });
});
