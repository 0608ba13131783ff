import { request } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { postJson } from '../../src/net/post-json.ts';
import { responseOf } from '../../src/net/response-of.ts';

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
  it('is none when the server would speak another protocol', async () => {
    const asked = request({ host: '127.0.0.1', port: await answering(upgrade), agent: false });
    const response = responseOf(asked);
    asked.end();
    await expect(response).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('is its head, as soon as that is there', async () => {
    const port = await answering('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n');
    const asked = request({ host: '127.0.0.1', port, agent: false });
    const response = responseOf(asked);
    asked.end();
    expect((await response).statusCode).toBe(200);
    asked.destroy();
  });
});

describe('JSON that is posted', () => {
  it('to a server that would speak another protocol fails, and is not waited for', async () => {
    const url = new URL(`http://127.0.0.1:${await answering(upgrade)}/`);
    expect(await postJson({ url, body: '{}', timeoutMs: 20_000 })).toEqual({
      kind: 'failed',
      code: 'ECONNRESET',
      reason: 'the connection was closed',
    });
  });

  it('to nobody, to silence and to no JSON comes back as what it is', async () => {
    const silent = new URL(`http://127.0.0.1:${await answering('')}/`);
    expect(await postJson({ url: silent, body: '{}', timeoutMs: 50 })).toEqual({
      kind: 'failed',
      code: null,
      reason: 'no answer within 0.05 s',
    });
    const text = new URL(`http://127.0.0.1:${await answering('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno')}/`);
    expect(await postJson({ url: text, body: '{}', timeoutMs: 20_000 })).toEqual({
      kind: 'answered',
      status: 200,
      body: undefined,
    });
    const nobody = new URL('http://127.0.0.1:9/');
    expect(await postJson({ url: nobody, body: '{}', timeoutMs: 20_000 })).toMatchObject({ code: 'ECONNREFUSED' });
  });
});
