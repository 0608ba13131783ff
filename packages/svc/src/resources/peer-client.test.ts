import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';

import { askPeer } from './peer-client.ts';

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
