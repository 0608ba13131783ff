import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { mayReach } from '@svc/kit/net/network-destination.ts';
import { proxyFor } from '@svc/kit/net/proxy.ts';
import { closedPort } from '../../../test/support/closed-port.ts';
import { StandInProxy } from '../../../test/support/stand-in-proxy.ts';
import { destination } from '../../sandbox/test/egress-fixture.ts';
import { OutboundHttp } from '../src/outbound/outbound-http.ts';
import { CountingServer, get } from './support/outbound-requests.ts';

let server: CountingServer;
let proxy: StandInProxy;
let asked: string[];
const closing: { close(): void }[] = [];

beforeEach(async () => {
  asked = [];
  server = await CountingServer.open();
  proxy = await StandInProxy.open({ route: () => server.port });
  closing.push(server, proxy);
});

afterEach(() => {
  for (const each of closing.splice(0)) each.close();
});

function open(env: Readonly<Record<string, string>>): OutboundHttp {
  const list = ['a.example', 'plain.example', '127.0.0.1'].map(destination);
  const http = new OutboundHttp({
    grants: { mayReach: (url) => mayReach(list, url), proxyFor: (url) => proxyFor(url, env) },
    resolver: {
      resolve: async (host) => {
        asked.push(host);
        return { kind: 'failed', reason: 'ENOTFOUND' };
      },
    },
  });
  closing.push(http);
  return http;
}

const both = (port: number): Readonly<Record<string, string>> => ({
  HTTPS_PROXY: `http://me:word@127.0.0.1:${port}`,
  HTTP_PROXY: `http://me:word@127.0.0.1:${port}`,
});
const credentials = `Basic ${Buffer.from('me:word').toString('base64')}`;

describe('a request of a component behind a proxy', () => {
  it('goes to the proxy whole where it is plain, and svc looks up no name', async () => {
    const http = open(both(proxy.port));
    expect([await get(http, 'http://plain.example'), await get(http, 'http://a.example:8080')]).toEqual([200, 200]);
    expect(proxy.asked).toEqual(['http://plain.example/', 'http://a.example:8080/']);
    expect(proxy.credentials).toEqual([credentials, credentials]);
    expect(server.hosts).toEqual(['plain.example', 'a.example:8080']);
    expect(asked).toEqual([]);
  });

  it('goes over TLS through a tunnel to its host', async () => {
    // The server behind it speaks none.
    expect(await get(open(both(proxy.port)), 'https://a.example')).toEqual({ tag: 'TLS-protocol-error' });
    expect([proxy.asked, proxy.credentials, asked]).toEqual([['a.example:443'], [credentials], []]);
  });

  it('fails where its host is not granted, before the proxy sees it', async () => {
    expect(await get(open(both(proxy.port)), 'https://b.example')).toEqual({ tag: 'HTTP-request-denied' });
    expect(proxy.asked).toEqual([]);
  });

  it('goes straight to this machine, and to what NO_PROXY names', async () => {
    const http = open({ ...both(proxy.port), NO_PROXY: 'a.example' });
    expect(await get(http, `http://127.0.0.1:${server.port}`)).toBe(200);
    expect(await get(http, 'http://a.example')).toMatchObject({ tag: 'DNS-error' });
    expect([proxy.asked, asked]).toEqual([[], ['a.example']]);
  });

  it.each([
    [403, 'does not connect to a.example:443 (403)'],
    [407, 'does not connect to a.example:443 (407)'],
  ])('fails with what the proxy says: %s', async (status, words) => {
    const closed = await StandInProxy.open({ route: () => null, status });
    closing.push(closed);
    const val = `the proxy 127.0.0.1:${closed.port} ${words}`;
    expect(await get(open(both(closed.port)), 'https://a.example')).toEqual({ tag: 'internal-error', val });
  });

  it('leaves a proxy that does not answer as soon as it is ended', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    closing.push(silent);
    const arrival = once(silent, 'connection') as Promise<[Socket]>;
    await once(silent, 'listening');
    const http = open(both((silent.address() as AddressInfo).port));
    const answer = get(http, 'https://a.example');
    const [connection] = await arrival;
    await once(connection, 'data');
    http.close();
    expect(await answer).toEqual({ tag: 'connection-terminated' });
    const next = new Promise<string>((resolve) => {
      connection.on('error', () => resolve('closed'));
      for (const event of ['end', 'data']) connection.once(event, () => resolve(event));
    });
    // Too late: with a connection that nobody wants any more, TLS would begin.
    connection.write('HTTP/1.1 200 OK\r\n\r\n');
    expect(await next).toMatch(/^(?:end|closed)$/);
    connection.destroy();
  });

  it('names a proxy that takes the connection and says nothing, before its own time is over', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    closing.push(silent);
    const arrival = once(silent, 'connection') as Promise<[Socket]>;
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const answer = get(open(both(port)), 'https://a.example');
      const [connection] = await arrival;
      await once(connection, 'data');
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await answer).toEqual({ tag: 'internal-error', val: `the proxy 127.0.0.1:${port}: it does not answer` });
      connection.destroy();
    } finally {
      vi.useRealTimers();
    }
  });

  it('fails where the proxy is not there', async () => {
    const port = await closedPort();
    const val = `the proxy 127.0.0.1:${port}: nothing listens there`;
    expect(await get(open(both(port)), 'https://a.example')).toEqual({ tag: 'internal-error', val });
    expect(await get(open(both(port)), 'http://a.example')).toEqual({ tag: 'connection-refused' });
  });
});
