import { once } from 'node:events';
import {
  type AddressInfo,
  createServer as createTcpServer,
  getDefaultAutoSelectFamily,
  setDefaultAutoSelectFamily,
} from 'node:net';
import { networkInterfaces } from 'node:os';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { OutboundHttp } from '../src/outbound/outbound-http.ts';
import type { HttpGrants } from '../src/outbound/request-plan.ts';
import type { HostResolver, Resolution } from '@svc/kit/net/resolver.ts';
import { mayReach } from '@svc/kit/net/network-destination.ts';
import { destination } from '../../sandbox/test/egress-fixture.ts';
import { CountingServer, get } from './support/outbound-requests.ts';

const hasIpv6Loopback = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
const isLinux = process.platform === 'linux';

interface Setting {
  /** As a manifest spells them. */
  readonly allow: readonly string[];
  readonly endpointOrigin?: string;
  /** What a name server answers, one list for each time it is asked; the last one stays. */
  readonly names?: Readonly<Record<string, readonly (readonly string[])[]>>;
  readonly resolver?: HostResolver;
  readonly resolveMs?: number;
}

let server: CountingServer;
let asked: string[];
/** Each host that was refused, and whether it led to where clouds give keys away. */
let refused: unknown[];
const closing: { close(): void }[] = [];

beforeEach(async () => {
  asked = [];
  refused = [];
  server = await CountingServer.open();
  closing.push(server);
});

afterEach(() => {
  for (const each of closing.splice(0)) each.close();
});

function open({ allow, endpointOrigin, names = {}, resolver, resolveMs }: Setting): OutboundHttp {
  const list = allow.map(destination);
  const grants: HttpGrants = {
    mayReach: (url) => mayReach(list, url) || url.origin === endpointOrigin,
    onRefused: (url, _rule, isMetadata) => void refused.push([url.hostname, isMetadata]),
    ...(endpointOrigin === undefined ? {} : { endpointOrigin }),
  };
  const zone: HostResolver = {
    resolve: async (host) => {
      const before = asked.filter((name) => name === host).length;
      asked.push(host);
      if (resolver !== undefined) return resolver.resolve(host);
      const answers = names[host];
      const addresses = answers?.[Math.min(before, answers.length - 1)];
      return addresses === undefined ? { kind: 'failed', reason: 'ENOTFOUND' } : { kind: 'addresses', addresses };
    },
  };
  const http = new OutboundHttp({ grants, resolver: zone, ...(resolveMs === undefined ? {} : { resolveMs }) });
  closing.push(http);
  return http;
}

const prohibited = { tag: 'destination-IP-prohibited' };

describe('a permitted name', () => {
  it('can be reached when it resolves to an address of the grants, under its own name', async () => {
    const { port } = server;
    const http = open({ allow: ['a.test', `127.0.0.1:${port}`], names: { 'a.test': [['127.0.0.1']] } });
    expect(await get(http, `http://a.test:${port}`)).toBe(200);
    expect([asked, server.hosts]).toEqual([['a.test'], [`a.test:${port}`]]);
  });

  it('has the port and scheme of that grant only', async () => {
    const names = { 'a.test': [['127.0.0.1']] };
    const { port } = server;
    const otherPort = open({ allow: ['a.test', '127.0.0.1:1'], names });
    expect(await get(otherPort, `http://a.test:${port}`)).toEqual(prohibited);
    const otherScheme = open({ allow: ['a.test', `https://127.0.0.1:${port}`], names });
    expect(await get(otherScheme, `http://a.test:${port}`)).toEqual(prohibited);
    expect(server.connections).toBe(0);
  });

  it('has the same limits over TLS, where the server gets its name', async () => {
    const hello: Buffer[] = [];
    const tcp = createTcpServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.on('data', (piece: Buffer) => {
        hello.push(piece);
        socket.end('no TLS here');
      });
    }).listen(0, '127.0.0.1');
    closing.push(tcp);
    await once(tcp, 'listening');
    const { port } = tcp.address() as AddressInfo;
    const names = { 'a.test': [['127.0.0.1']] };
    expect(await get(open({ allow: ['a.test'], names }), `https://a.test:${port}`)).toEqual(prohibited);
    expect(hello).toEqual([]);
    const granted = open({ allow: ['a.test', `https://127.0.0.1:${port}`], names });
    expect(await get(granted, `https://a.test:${port}`)).toEqual({ tag: 'TLS-protocol-error' });
    expect(Buffer.concat(hello).includes('a.test')).toBe(true);
  });

  it('has the same limits where Node tries one address of a name only', async () => {
    const { port } = server;
    const usual = getDefaultAutoSelectFamily();
    setDefaultAutoSelectFamily(false);
    closing.push({ close: () => setDefaultAutoSelectFamily(usual) });
    const names = { 'a.test': [['127.0.0.1']], 'b.test': [['127.0.0.1', '127.0.0.2']] };
    const http = open({ allow: ['a.test', 'b.test', `127.0.0.1:${port}`], names });
    expect(await get(http, `http://a.test:${port}`)).toBe(200);
    expect(await get(http, `http://b.test:${port}`)).toEqual(prohibited);
  });

  it('leads to each of its addresses, and a refused connection has its own error', async (context) => {
    context.skip(!isLinux, 'needs all of 127.0.0.0/8');
    const { port } = server;
    const names = { 'a.test': [['127.0.0.2', '127.0.0.1']], 'b.test': [['127.0.0.2', '127.0.0.3']] };
    const http = open({ allow: ['a.test', 'b.test', '127.0.0.1', '127.0.0.2', '127.0.0.3'], names });
    expect(await get(http, `http://a.test:${port}`)).toBe(200);
    expect(await get(http, `http://b.test:${port}`)).toEqual({ tag: 'connection-refused' });
  });

  it('stands apart in what is reported where it leads to an address at which clouds give keys away', async () => {
    const names = { 'a.test': [['169.254.169.254']], 'b.test': [['127.0.0.1']], 'c.test': [['::ffff:a9fe:a9fe']] };
    const http = open({ allow: ['a.test', 'b.test', 'c.test'], names });
    for (const name of Object.keys(names)) expect(await get(http, `http://${name}`)).toEqual(prohibited);
    expect(refused).toEqual([
      ['a.test', true],
      ['b.test', false],
      ['c.test', true],
    ]);
  });

  it('can be reached over IPv6', async (context) => {
    context.skip(!hasIpv6Loopback, 'needs an IPv6 loopback');
    const six = await CountingServer.open('::1');
    closing.push(six);
    const names = { 'a.test': [['::1']], 'b.test': [['::1', '169.254.169.254']] };
    const http = open({ allow: ['a.test', 'b.test', `[::1]:${six.port}`], names });
    expect(await get(http, `http://a.test:${six.port}`)).toBe(200);
    expect(await get(http, `http://b.test:${six.port}`)).toEqual(prohibited);
    expect(six.connections).toBe(1);
  });
});

describe('a connection that is kept alive', () => {
  it('serves its own name again without another look-up', async () => {
    const { port } = server;
    const names = { 'a.test': [['127.0.0.1'], ['127.0.0.2']] };
    const http = open({ allow: ['a.test', `127.0.0.1:${port}`], names });
    expect(await get(http, `http://a.test:${port}`)).toBe(200);
    expect(await get(http, `http://a.test:${port}`)).toBe(200);
    expect([asked, server.connections]).toEqual([['a.test'], 1]);
  });

  it('never serves another name at the same address', async () => {
    const { port } = server;
    const names = { 'a.test': [['127.0.0.1']], 'b.test': [['127.0.0.1']], 'c.test': [['127.0.0.2']] };
    const http = open({ allow: ['a.test', 'b.test', 'c.test', `127.0.0.1:${port}`], names });
    expect(await get(http, `http://a.test:${port}`)).toBe(200);
    expect(await get(http, `http://b.test:${port}`)).toBe(200);
    expect(await get(http, `http://c.test:${port}`)).toEqual(prohibited);
    expect([asked, server.connections]).toEqual([['a.test', 'b.test', 'c.test'], 2]);
  });
});

describe('a host that needs no name server', () => {
  const nobody: HostResolver = {
    resolve: async () => ({ kind: 'addresses', addresses: ['169.254.169.254'] }),
  };

  it('can be an address of the grants', async () => {
    const { port } = server;
    const http = open({ allow: [`127.0.0.1:${port}`], resolver: nobody });
    expect(await get(http, `http://127.0.0.1:${port}`)).toBe(200);
    expect(await get(http, `http://127.0.0.2:${port}`)).toEqual({ tag: 'HTTP-request-denied' });
    expect(asked).toEqual([]);
  });

  it('can be localhost', async () => {
    const { port } = server;
    const http = open({ allow: ['localhost'], resolver: nobody });
    expect(await get(http, `http://localhost:${port}`)).toBe(200);
    expect([asked, server.hosts]).toEqual([[], [`localhost:${port}`]]);
  });

  it('can be an IPv6 address, and localhost there', async (context) => {
    context.skip(!hasIpv6Loopback, 'needs an IPv6 loopback');
    const six = await CountingServer.open('::1');
    closing.push(six);
    const http = open({ allow: ['[::1]', 'localhost'], resolver: nobody });
    expect(await get(http, `http://[::1]:${six.port}`)).toBe(200);
    expect(await get(http, `http://localhost:${six.port}`)).toBe(200);
    expect(asked).toEqual([]);
  });
});

describe("the driver's endpoint", () => {
  it('can be reached wherever its host is', async () => {
    const { port } = server;
    const names = { 'own.test': [['127.0.0.1']] };
    const http = open({ allow: [], endpointOrigin: `http://own.test:${port}`, names });
    expect(await get(http, `http://own.test:${port}`)).toBe(200);
  });

  it('takes no other name, port or scheme there with it', async () => {
    const { port } = server;
    const names = { 'own.test': [['127.0.0.1']], 'a.test': [['127.0.0.1']] };
    const http = open({ allow: ['own.test', 'a.test'], endpointOrigin: `https://own.test:${port}`, names });
    expect(await get(http, `http://own.test:${port}`)).toEqual(prohibited);
    expect(await get(http, `https://own.test:1`)).toEqual(prohibited);
    expect(await get(http, `https://a.test:${port}`)).toEqual(prohibited);
    expect(server.connections).toBe(0);
  });
});

describe('a resolver', () => {
  function answering(resolution: Promise<Resolution>, resolveMs?: number): OutboundHttp {
    return open({
      allow: ['a.test'],
      resolver: { resolve: async () => await resolution },
      ...(resolveMs === undefined ? {} : { resolveMs }),
    });
  }

  it('fails with its word', async () => {
    const http = answering(Promise.resolve({ kind: 'failed', reason: 'EAI_AGAIN' }));
    const error = { tag: 'DNS-error', val: { rcode: 'EAI_AGAIN', infoCode: undefined } };
    expect(await get(http, 'http://a.test')).toEqual(error);
  });

  it('fails when it answers without an address', async () => {
    const http = answering(Promise.resolve({ kind: 'addresses', addresses: [] }));
    const error = { tag: 'DNS-error', val: { rcode: 'ENODATA', infoCode: undefined } };
    expect(await get(http, 'http://a.test')).toEqual(error);
  });

  it('times out when it never answers', async () => {
    const http = answering(new Promise(() => {}), 20);
    expect(await get(http, 'http://a.test')).toEqual({ tag: 'DNS-timeout' });
  });

  it('connects to nothing when it answers after its request is gone', async () => {
    const { port } = server;
    let answer: (resolution: Resolution) => void = () => {};
    const late = new Promise<Resolution>((resolve) => {
      answer = resolve;
    });
    const http = open({ allow: ['a.test', '127.0.0.1'], resolver: { resolve: async () => await late } });
    const outcome = get(http, `http://a.test:${port}`);
    await expect.poll(() => asked).toEqual(['a.test']);
    http.close();
    expect(await outcome).toEqual({ tag: 'connection-terminated' });
    answer({ kind: 'addresses', addresses: ['127.0.0.1'] });
    // A later connection to the same server comes after one that this made.
    expect(await get(open({ allow: ['127.0.0.1'] }), `http://127.0.0.1:${port}`)).toBe(200);
    expect(server.connections).toBe(1);
  });
});
