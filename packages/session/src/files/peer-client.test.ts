import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it, describe } from 'vitest';

import { askPeer, parsePeerAddress } from './peer-client.ts';

let server: Server | null = null;
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => (server === null ? resolve(null) : server.close(resolve)));
});

it('a peer that would speak another protocol gives no answer, and is not waited for', async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'));
  });
  const listening = server;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const { port } = listening.address() as AddressInfo;
  const asked = askPeer(
    {
      url: new URL(`http://127.0.0.1:${port}`),
      path: '/',
      headers: {},
      allow: [{ scheme: null, host: '127.0.0.1', port }],
      times: { idleMs: 20_000, totalMs: 20_000 },
      signal: new AbortController().signal,
    },
    async () => await Promise.resolve('an answer'),
  );
  expect(await asked).toEqual({
    kind: 'failed',
    reason: 'the connection was closed before everything had gone over it',
  });
});

describe('the address of a peer', () => {
  it.each([
    ['localhost:4100', 'http://localhost:4100/'],
    [' localhost:4100\n', 'http://localhost:4100/'],
    ['Peer.Example:80', 'http://peer.example/'],
    ['[::1]:4100', 'http://[::1]:4100/'],
    ['http://peer.example', 'http://peer.example/'],
    ['http://peer.example:4100/', 'http://peer.example:4100/'],
    ['https://peer.example', 'https://peer.example/'],
    ['HTTPS://peer.example:8443', 'https://peer.example:8443/'],
  ])('%j is %s [D3-TOOL-03]', (text, url) => {
    expect(parsePeerAddress(text)).toMatchObject({ kind: 'peer', url: { href: url } });
  });

  it.each([
    ['', 'is empty'],
    ['peer.example', 'has no port'],
    ['peer.example:0', 'is not a host with an optional port'],
    ['peer.example:70000', 'has a port above 65535'],
    ['peer.example:80/x', 'has a path'],
    ['http://peer.example/resources/peer/', 'has a path'],
    ['http://user@peer.example', 'has a user part'],
    ['http://peer.example?x', 'has a query'],
    ['ftp://peer.example', 'has a scheme that is not http or https'],
    ['peer example:80', 'does not name a host'],
    ['*:80', 'has a wildcard, name each host'],
  ])('%j %s', (text, reason) => {
    expect(parsePeerAddress(text)).toEqual({ kind: 'malformed', reason });
  });
});
