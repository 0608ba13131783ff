/** Tests what promises to connect to checked addresses alone. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { HostResolver } from '@svc/kit/net/resolver.ts';
import { expect, it, onTestFinished } from 'vitest';

export interface GuardedRequest {
  readonly url: URL;
  /** As a manifest spells them. */
  readonly allow: readonly string[];
  readonly resolver: HostResolver;
}

export interface AddressUser {
  /** Sends one request on a connection of its own; resolves with whether it was answered. */
  readonly reach: (request: GuardedRequest) => Promise<boolean>;
}

/**
 * What everything promises that connects to a host of the grants: to an address that was checked, and to none that was not (docs/adr/manifest-and-grants.md
 * "One rule for addresses").
 */
export function checkedAddressContract(name: string, { reach }: AddressUser): void {
  /** A server on 127.0.0.1 and a name server that gives one list of addresses for each time it is asked; the last one stays. */
  async function setUp(...answers: readonly (readonly string[])[]) {
    const met = { asked: [] as string[], connections: 0 };
    const server = createServer((_, response) => response.setHeader('connection', 'close').end('fine'));
    server.on('connection', () => (met.connections += 1));
    onTestFinished(() => server.close().closeAllConnections());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const resolver: HostResolver = {
      resolve: async (host) => {
        met.asked.push(host);
        const addresses = answers[Math.min(met.asked.length, answers.length) - 1];
        return addresses === undefined ? { kind: 'failed', reason: 'ENOTFOUND' } : { kind: 'addresses', addresses };
      },
    };
    const ask = async (host: string, ...allow: readonly string[]): Promise<boolean> =>
      await reach({ url: new URL(`http://${host}:${port}/`), allow, resolver });
    return { port, met, ask };
  }

  it.each([
    '127.0.0.1',
    '127.0.0.2',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    '169.254.169.254',
    '::ffff:169.254.169.254',
    'fe80::1%lo',
    '::1%lo',
    '::ffff:127.0.0.1%lo',
    '0.0.0.0',
    '::',
    '127.1',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '2130706433',
    'localhost',
    '',
  ])(`${name} connects to no name of the grants that resolves to %j`, async (address) => {
    for (const addresses of [[address], ['10.255.255.1', address], [address, '10.255.255.1']]) {
      const { met, ask } = await setUp(addresses);
      expect(await ask('a.test', 'a.test')).toBe(false);
      expect(met).toEqual({ asked: ['a.test'], connections: 0 });
    }
  });

  it.each(['127.1', '127.0.1', '0177.0.0.1', '0x7f.1', '0x7f000001', '2130706433', '017700000001', '127.0.0.1'])(
    `${name} takes the host %s as the address that it is, and asks nobody about it`,
    async (host) => {
      const { met, port, ask } = await setUp(['127.0.0.1']);
      expect(await ask(host, 'a.test', 'localhost', '127.0.0.2')).toBe(false);
      expect(met).toEqual({ asked: [], connections: 0 });
      expect(await ask(host, `127.0.0.1:${port}`)).toBe(true);
      expect(met).toEqual({ asked: [], connections: 1 });
    },
  );

  it(`${name} connects to an address of the grants under a name of the grants`, async () => {
    const { met, port, ask } = await setUp(['127.0.0.1']);
    expect(await ask('a.test', 'a.test', `127.0.0.1:${port}`)).toBe(true);
    expect(await ask('a.test', 'a.test', `localhost:${port}`)).toBe(true);
    expect(await ask('a.test', 'a.test', '127.0.0.1:1')).toBe(false);
    expect(await ask('b.test', 'a.test', '127.0.0.1')).toBe(false);
    expect(met).toEqual({ asked: ['a.test', 'a.test', 'a.test'], connections: 2 });
  });

  it(`${name} connects to what was checked, and holds the next connection to the next answer`, async () => {
    const { met, port, ask } = await setUp(['127.0.0.1'], ['127.0.0.2'], []);
    const allow = ['a.test', `127.0.0.1:${port}`];
    expect(await ask('a.test', ...allow)).toBe(true);
    expect(met).toEqual({ asked: ['a.test'], connections: 1 });
    expect(await ask('a.test', ...allow)).toBe(false);
    expect(await ask('a.test', ...allow)).toBe(false);
    expect(met).toEqual({ asked: ['a.test', 'a.test', 'a.test'], connections: 1 });
  });

  it(`${name} tries eight addresses at most`, async (context) => {
    context.skip(process.platform !== 'linux', 'needs all of 127.0.0.0/8');
    const others = Array.from({ length: 8 }, (_, index) => `127.0.0.${index + 2}`);
    const { ask } = await setUp([...others, '127.0.0.1'], [...others.slice(1), '127.0.0.1']);
    expect(await ask('a.test', 'a.test', 'localhost')).toBe(false);
    expect(await ask('a.test', 'a.test', 'localhost')).toBe(true);
  });
}
