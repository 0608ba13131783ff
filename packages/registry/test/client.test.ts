import { createHash } from 'node:crypto';

import { expect, it } from 'vitest';

import { RegistryClient } from '@svc/client/registry-client.ts';
import { key, RegistryKit, toolArchive } from './registry-kit.ts';

it('a client publishes, finds and fetches', async () => {
  const kit = await RegistryKit.open();
  const client = new RegistryClient({ url: `127.0.0.1:${kit.port}`, token: key });
  const archive = Uint8Array.from(await toolArchive('echo', '1.0.0+b'));
  const query = { name: 'echo', version: '1.0.0+b', runtime: 'wasm', platforms: ['linux-x86_64'] };
  await client.publish(query, archive);
  expect(await client.index()).toMatchObject([{ name: 'echo', version: '1.0.0+b', platforms: [['linux', 'x86_64']] }]);
  const fetched = await client.archive('echo', '1.0.0+b', { platform: 'linux-x86_64' });
  expect(fetched?.sha256).toBe(createHash('sha256').update(archive).digest('hex'));
  expect(fetched?.bytes).toEqual(archive);
  expect(await client.archive('echo', '2.0.0')).toBeNull();
  await expect(client.publish(query, archive)).rejects.toMatchObject({ code: 'refused', status: 409 });
  const stranger = new RegistryClient({ url: `http://127.0.0.1:${kit.port}` });
  await expect(stranger.index()).rejects.toMatchObject({ code: 'refused', status: 401, refusal: 'unauthorized' });
});
