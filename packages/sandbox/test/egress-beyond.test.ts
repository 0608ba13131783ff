import { connect, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { proxyFor } from '@svc/kit/net/proxy.ts';
import { exchange, received } from '../../kit/test/http/raw-client.ts';
import { closedPort } from '../../../test/support/closed-port.ts';
import { StandInProxy } from '../../../test/support/stand-in-proxy.ts';
import { connectBytes, EgressFixture, getBytes, RawServer } from './egress-fixture.ts';

const established = 'HTTP/1.1 200 Connection established\r\n\r\n';
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine';

const closing: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).toReversed()) await each.close();
});

interface Beyond {
  readonly proxy: StandInProxy;
  readonly fixture: EgressFixture;
}

/** An egress proxy whose granted hosts lie beyond another proxy, at `port` of this machine. */
async function beyond(server: RawServer, { status = 200, env = {} } = {}): Promise<Beyond> {
  const proxy = await StandInProxy.open({ route: () => server.port, status });
  const address = `http://me:word@127.0.0.1:${proxy.port}`;
  const named = { HTTPS_PROXY: address, HTTP_PROXY: address, NO_PROXY: 'direct.example', ...env };
  const fixture = await EgressFixture.open({
    allow: ['a.example', 'direct.example'],
    proxyFor: (url) => proxyFor(url, named),
  });
  closing.push(server, proxy, fixture);
  return { proxy, fixture };
}

const credentials = `Basic ${Buffer.from('me:word').toString('base64')}`;
const allowed = (destination: string): unknown => ({ destination, verdict: 'allowed', reason: null });

describe('a granted host beyond the proxy of this machine', () => {
  it('answers through a tunnel in a tunnel, by its name', async () => {
    const { proxy, fixture } = await beyond(await RawServer.open((socket) => socket.pipe(socket)));
    const sent = { port: fixture.port, bytes: [connectBytes('a.example:443'), 'to and fro'], halfClose: true };
    expect(await exchange(sent)).toBe(`${established}to and fro`);
    expect([proxy.asked, proxy.credentials]).toEqual([['a.example:443'], [credentials]]);
    expect([fixture.asked, fixture.decisions]).toEqual([[], [allowed('https://a.example')]]);
  });

  it('speaks first where it likes to', async () => {
    const { fixture } = await beyond(await RawServer.open((socket) => socket.write('hello\n')));
    const client: Socket = connect({ port: fixture.port, host: '127.0.0.1' });
    client.write(connectBytes('a.example:22'));
    await expect(received(client, `${established}hello\n`)).resolves.toBeDefined();
    client.destroy();
  });

  it('gets plain HTTP with its whole address, without the credentials', async () => {
    const server = await RawServer.answering(answer);
    const { proxy, fixture } = await beyond(server);
    const spoofed = ['Proxy-Authorization: Basic eDp5', 'X-Own: 1', 'Connection: close'];
    const got = await exchange({ port: fixture.port, bytes: [getBytes('http://a.example/x?y', spoofed)] });
    expect(got).toContain('\r\n\r\nfine');
    expect([proxy.asked, proxy.credentials]).toEqual([['http://a.example/x?y'], [credentials]]);
    expect(server.received[0]).toMatch(/^GET \/x\?y HTTP\/1\.1\r\n/);
    expect(server.received[0]?.toLowerCase()).toContain('host: a.example\r\n');
    expect(server.received[0]?.toLowerCase()).not.toContain('proxy-authorization');
  });

  it('fails where it is not granted, before that proxy sees it', async () => {
    const { proxy, fixture } = await beyond(await RawServer.answering(answer));
    const got = await exchange({ port: fixture.port, bytes: [connectBytes('b.example:443')] });
    expect(got).toMatch(/^HTTP\/1\.1 403 /);
    expect(proxy.asked).toEqual([]);
  });

  it('needs a look-up and a check where NO_PROXY names it', async () => {
    const { proxy, fixture } = await beyond(await RawServer.answering(answer));
    const got = await exchange({ port: fixture.port, bytes: [connectBytes('direct.example:443')] });
    expect(got).toMatch(/^HTTP\/1\.1 502 /);
    expect([proxy.asked, fixture.asked]).toEqual([[], ['direct.example']]);
  });

  it('fails in the words of a proxy that refuses', async () => {
    const { proxy, fixture } = await beyond(await RawServer.answering(answer), { status: 407 });
    const got = await exchange({ port: fixture.port, bytes: [connectBytes('a.example:443')] });
    const why = `the proxy 127.0.0.1:${proxy.port} does not connect to a.example:443 (407)`;
    expect(got).toMatch(/^HTTP\/1\.1 502 /);
    const reason = `https://a.example cannot be reached: ${why}.`;
    expect(got).toContain(reason);
    expect(fixture.decisions).toEqual([{ destination: 'https://a.example', verdict: 'failed', reason }]);
  });

  it.each(['HTTPS_PROXY', 'HTTP_PROXY'])('fails where the proxy of %s is not there', async (name) => {
    const port = await closedPort();
    const env = { [name]: `http://me:word@127.0.0.1:${port}` };
    const { fixture } = await beyond(await RawServer.answering(answer), { env });
    const bytes = name === 'HTTP_PROXY' ? getBytes('http://a.example/') : connectBytes('a.example:443');
    expect(await exchange({ port: fixture.port, bytes: [bytes] })).toContain(
      `a.example cannot be reached: the proxy 127.0.0.1:${port}: nothing listens there.`,
    );
  });
});
