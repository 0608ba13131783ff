import { request } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { responseOf } from '../../src/net/connections.ts';

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

/** A server that answers the first bytes of each connection with these, and leaves it open. */
async function answering(bytes: string): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.write(bytes));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';

describe('the answer to a request', () => {
  it('never comes when the server would speak another protocol', async () => {
    const asked = request({ host: '127.0.0.1', port: await answering(upgrade), agent: false });
    const response = responseOf(asked);
    asked.end();
    await expect(response).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('begins with its head, as soon as that is there', async () => {
    const port = await answering('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n');
    const asked = request({ host: '127.0.0.1', port, agent: false });
    const response = responseOf(asked);
    asked.end();
    expect((await response).statusCode).toBe(200);
    asked.destroy();
  });
});
