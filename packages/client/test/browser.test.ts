import { createContext, runInContext } from 'node:vm';

import { build } from 'esbuild';
import { expect, it } from 'vitest';

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
}`;

it('a bundle for browsers drives a capsule with what browsers have', async () => {
  const capsule = await FakeCapsule.open({
    watch: (watcher) => watcher.write(acknowledgement + text(1n, 'one') + text(2n, 'two') + closed),
    call: () => taskObject({ state: 'submitted' }),
  });
  const bundle = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'bundled',
    write: false,
  });
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
  };
  const context = createContext({ ...web, URLSearchParams, crypto });
  const driven = runInContext(`${bundle.outputFiles[0]?.text};bundled.drive(${JSON.stringify(capsule.url)})`, context);
  expect(JSON.parse((await driven) as string)).toEqual({
    said: ['one', 'two'],
    state: 'submitted',
    others: ['RefereeClient', 'RegistryClient'],
  });
});
