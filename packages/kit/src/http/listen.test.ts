import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { listenAt } from './listen.ts';

let server: Server;
beforeEach(() => {
  server = createServer();
});
afterEach(() => {
  server.close();
});

async function bound(host: string): Promise<AddressInfo> {
  listenAt(server, { host, port: 0 });
  await once(server, 'listening');
  return server.address() as AddressInfo;
}

describe('a server that is to listen', () => {
  it('listens at an IPv4 address without a name being looked up', async () => {
    server.listen = () => expect.fail('asked the slow way');
    expect(await bound('127.0.0.1')).toMatchObject({ address: '127.0.0.1', family: 'IPv4' });
  });

  it('listens at an address that is given by name', async () => {
    expect((await bound('localhost')).address).toMatch(/^(127\.0\.0\.1|::1)$/);
  });

  it('leaves the look-up to Node where there is no way past it', () => {
    const asked: unknown[] = [];
    listenAt({ listen: (options: unknown) => asked.push(options) } as unknown as Server, {
      host: '127.0.0.1',
      port: 7,
    });
    expect(asked).toEqual([{ host: '127.0.0.1', port: 7 }]);
  });

  it('says in the words of Node that a port is taken', async () => {
    const { port } = await bound('127.0.0.1');
    const second = createServer();
    const failed = once(second, 'error');
    listenAt(second, { host: '127.0.0.1', port });
    expect(await failed).toMatchObject([
      { message: `listen EADDRINUSE: address already in use 127.0.0.1:${port}`, code: 'EADDRINUSE', syscall: 'listen' },
    ]);
  });
});
