import { afterEach, expect, it, vi } from 'vitest';

import { HttpClient } from '@svc/kit/net/http-client.ts';
import { RegistrySource } from '../../src/store/sources/registry-source.ts';
import { StandInServer } from './stand-in-server.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('a request to a registry has 30 seconds in all, its redirects and its body included [D3-LIMIT-01]', async () => {
  let told = (): void => undefined;
  const asked = new Promise<void>((resolve) => (told = resolve));
  const server = await StandInServer.open((request, response) => {
    if (request.url === '/v1/artifacts') {
      // Half of the time has gone when the redirect comes.
      vi.advanceTimersByTime(15_000);
      response.writeHead(302, { location: '/moved' }).end();
      return;
    }
    response.writeHead(200, { 'content-length': '10' }).write('[');
    told();
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const client = new RegistrySource({ url: server.url, key: null, keyName: 'REGISTRY_API_KEY' }, new HttpClient());
  const outcome: Promise<unknown> = client.index().then(
    () => 'an index',
    (error: unknown) => error,
  );
  await asked;
  vi.advanceTimersByTime(14_999);
  expect(await Promise.race([outcome, new Promise((resolve) => setImmediate(() => resolve('still waiting')))])).toBe(
    'still waiting',
  );
  vi.advanceTimersByTime(1);
  expect(await outcome).toMatchObject({
    code: 'E-IO-003',
    message: expect.stringMatching(/ was given up after 30 seconds/) as string,
  });
});
