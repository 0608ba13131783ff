import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';
import { beforeAll, expect, it } from 'vitest';

import { acknowledgement, closed, FakeCapsule, taskObject, text } from './fake-capsule.ts';

const contents = `
import { CapsuleClient, RefereeClient, RegistryClient } from '@svc/client/index.ts';

export async function drive(url) {
  const capsule = new CapsuleClient({ url });
  const said = [];
  for await (const event of capsule.watch()) {
    if (event.kind === 'frame') said.push(event.frame.text);
  }
  const { state } = await capsule.send('a');
  return JSON.stringify({ said, state, others: [RefereeClient.name, RegistryClient.name] });
}

export async function hash(url) {
  const [capsule, registry] = [new CapsuleClient({ url }), new RegistryClient({ url })];
  const query = { name: 'a', version: '1.0.0', runtime: 'wasm', platforms: [] };
  const asked = [capsule.file('a'), capsule.sharedFile('a', 'b'), registry.archive('a', '1.0.0'), registry.publish(query, new Uint8Array(1))];
  const ends = await Promise.allSettled(asked);
  return JSON.stringify(ends.map(({ reason }) => [reason.name, reason.code]));
}`;

let script = '';
beforeAll(async () => {
  const bundle = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'bundled',
    write: false,
  });
  script = bundle.outputFiles[0]?.text ?? '';
});

/** What a call of the bundle comes to, with what browsers have. */
async function inBrowser(call: string, given: { readonly crypto: object } = { crypto }): Promise<unknown> {
  const web = {
    AbortController,
    AbortSignal,
    clearTimeout,
    fetch,
    setTimeout,
    TextDecoder,
    TextEncoder,
    Uint8Array,
    URL,
    URLSearchParams,
  };
  const text = runInContext(`${script};bundled.${call}`, createContext({ ...web, ...given })) as Promise<string>;
  return JSON.parse(await text);
}

it('a bundle for browsers drives a capsule with what browsers have', async () => {
  const capsule = await FakeCapsule.open({
    watch: (watcher) => watcher.write(acknowledgement + text(1n, 'one') + text(2n, 'two') + closed),
    call: () => taskObject({ state: 'submitted' }),
  });
  expect(await inBrowser(`drive(${JSON.stringify(capsule.url)})`)).toEqual({
    said: ['one', 'two'],
    state: 'submitted',
    others: ['RefereeClient', 'RegistryClient'],
  });
});

it('the browser bundle asks for no file and sends no archive on a page where browsers make no hashes', async () => {
  const asked: string[] = [];
  const capsule = await FakeCapsule.open({ other: ({ url = '' }, response) => response.end(`${asked.push(url)}`) });
  const refused = ['ClientError', 'insecure-page'];
  const ends = await inBrowser(`hash(${JSON.stringify(capsule.url)})`, { crypto: { randomUUID: () => '' } });
  expect(ends).toEqual([refused, refused, refused, refused]);
  expect(asked).toEqual([]);
});

it('a bundle for browsers has all three clients in less than 20 KiB, packed', () => {
  expect(gzipSync(script).length).toBeLessThan(20 * 1024);
});
