import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { exchange, received } from '../../kit/test/http/raw-client.ts';
import { connectBytes, EgressFixture, RawServer, type EgressSetting } from './egress-fixture.ts';

const established = 'HTTP/1.1 200 Connection established\r\n\r\n';

let fixture: EgressFixture;
let server: RawServer;

afterEach(async () => {
  await fixture.close();
  await server.close();
});

async function open(serve: (socket: Socket) => void, setting: Partial<EgressSetting> = {}): Promise<void> {
  server = await RawServer.open(serve);
  fixture = await EgressFixture.open({
    allow: ['https://a.example'],
    names: { 'a.example': ['93.184.216.34'] },
    routes: { '93.184.216.34:443': server.port },
    ...setting,
  });
}

/** A client inside a tunnel that stands. */
async function enter(): Promise<Socket> {
  const socket = connect({ port: fixture.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write(connectBytes('a.example:443'));
  await received(socket, established);
  return socket;
}

function everything(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  return new Promise((resolve) => socket.once('end', () => resolve(Buffer.concat(pieces).toString('latin1'))));
}

describe('a tunnel', () => {
  it('carries any bytes both ways', async () => {
    await open((socket) => socket.pipe(socket));
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index)).toString('latin1');
    const answer = await exchange({
      port: fixture.port,
      bytes: [connectBytes('a.example:443'), bytes],
      halfClose: true,
    });
    expect(answer).toBe(established + bytes);
  });

  it('carries what was sent together with its request, and the end that came with it', async () => {
    await open((socket) => socket.pipe(socket));
    const socket = connect({ port: fixture.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.end(`${connectBytes('a.example:443')}early`);
    expect(await everything(socket)).toBe(`${established}early`);
    expect(server.received).toEqual(['early']);
  });

  it('opens for HTTP/1.0 without Host', async () => {
    await open((socket) => socket.pipe(socket));
    const answer = await exchange({
      port: fixture.port,
      bytes: ['CONNECT a.example:443 HTTP/1.0\r\n\r\n', 'x'],
      halfClose: true,
    });
    expect(answer).toBe(`${established}x`);
  });

  it('passes on the end of what the client sends, while the server still answers', async () => {
    await open((socket) => {
      socket.on('end', () => socket.end('all that came was heard'));
    });
    const socket = await enter();
    const heard = everything(socket);
    socket.end('question');
    expect(await heard).toBe('all that came was heard');
    expect(server.received).toEqual(['question']);
  });

  it('passes on the end of what the server sends, while the client still sends', async () => {
    await open((socket) => socket.end('banner'));
    const socket = await enter();
    if (!socket.readableEnded) await everything(socket);
    const [upstream] = server.sockets as [Socket];
    const heard = once(upstream, 'end');
    socket.end('late');
    await heard;
    expect(server.received).toEqual(['late']);
  });

  it('passes on a reset of the server', async () => {
    await open((socket) => {
      socket.on('data', () => socket.resetAndDestroy());
    });
    const socket = await enter();
    const broken = once(socket, 'error') as Promise<[NodeJS.ErrnoException]>;
    socket.write('x');
    expect((await broken)[0].code).toBe('ECONNRESET');
  });

  it('passes on a reset of the client', async () => {
    let broken: Promise<unknown> = Promise.resolve();
    await open((socket) => {
      broken = new Promise((resolve) => socket.once('error', resolve));
      socket.write('banner');
    });
    const socket = await enter();
    socket.resetAndDestroy();
    expect(await broken).toMatchObject({ code: 'ECONNRESET' });
  });

  it('ends after too long without a byte', async () => {
    // It has to be entered and listened to before that.
    await open(() => {}, { limits: { idleMs: 500 } });
    const socket = await enter();
    await once(socket, 'error');
    expect(fixture.upstreams.every(({ destroyed }) => destroyed)).toBe(true);
  });

  it('closes with the proxy, on both sides', async () => {
    await open(() => {});
    const socket = await enter();
    const ends = [socket, server.sockets[0] as Socket].map((end) => {
      end.on('error', () => end.destroy());
      end.on('end', () => end.end());
      end.resume();
      return new Promise((resolve) => end.once('close', resolve));
    });
    await fixture.proxy.close();
    expect([...fixture.clients, ...fixture.upstreams].map(({ closed }) => closed)).toEqual([true, true]);
    await Promise.all(ends);
  });
});
