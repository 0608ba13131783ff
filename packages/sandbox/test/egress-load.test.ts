import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { exchange, parseResponse, received } from '../../kit/test/http/raw-client.ts';
import { connectBytes, EgressFixture, getBytes, portOf, RawServer, type EgressSetting } from './egress-fixture.ts';

const mebibyte = 1024 * 1024;
const total = 100 * mebibyte;
const piece = Buffer.alloc(64 * 1024, 'x');
const wholeHash = createHash('sha256');
for (let sent = 0; sent < total; sent += piece.length) wholeHash.update(piece);
const wholeDigest = wholeHash.digest('hex');

let fixture: EgressFixture;
let closeServer: () => Promise<unknown>;
/** The most bytes that waited in the proxy's sockets at any moment that was looked at. */
let maxHeld: number;

beforeEach(() => {
  maxHeld = 0;
});

afterEach(async () => {
  await fixture.close();
  await closeServer();
});

async function openTo(port: number, setting: Partial<EgressSetting> = {}): Promise<void> {
  fixture = await EgressFixture.open({
    allow: ['a.example'],
    names: { 'a.example': ['93.184.216.34'] },
    routes: { '93.184.216.34:80': port, '93.184.216.34:443': port },
    ...setting,
  });
}

function look(): void {
  const sockets = [...fixture.clients, ...fixture.upstreams];
  const held = sockets.reduce((sum, { readableLength, writableLength }) => sum + readableLength + writableLength, 0);
  maxHeld = Math.max(maxHeld, held);
}

/** Writes it all, as fast as it is taken. */
async function pour(into: NodeJS.WritableStream): Promise<void> {
  for (let sent = 0; sent < total; sent += piece.length) {
    look();
    if (!into.write(piece)) await once(into, 'drain');
  }
  into.end();
}

/** Reads to the end, in small sips with a turn of the loop between them. */
async function sip(from: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of from) {
    look();
    hash.update(bytes);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return hash.digest('hex');
}

/** What comes in; its end leaves the other half open. */
function halfOf(socket: Socket): AsyncIterable<Buffer> {
  return socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
}

describe('100 MB through the proxy', () => {
  async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<void> {
    const server = createServer(answer);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closeServer = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    await openTo(portOf(server));
  }

  it.each([
    ['with a length', { 'content-length': String(total) }],
    ['in chunks', {}],
  ])('go to a slow server %s, and little of it waits', async (_name, headers) => {
    let digest = '';
    await serve((request, response) => {
      void sip(request as AsyncIterable<Buffer>).then((whole) => {
        digest = whole;
        response.end('had it');
      });
    });
    const request = ask({ port: fixture.port, host: '127.0.0.1', method: 'POST', path: 'http://a.example/', headers });
    const answered = once(request, 'response') as Promise<[IncomingMessage]>;
    await pour(request);
    const [response] = await answered;
    expect(response.statusCode).toBe(200);
    expect(digest).toBe(wholeDigest);
    expect(maxHeld).toBeLessThan(2 * mebibyte);
  });

  it.each([
    ['with a length', { 'content-length': String(total) }],
    ['in chunks', {}],
  ])('come to a slow client %s, and little of it waits', async (_name, headers) => {
    await serve((_request, response) => {
      response.writeHead(200, headers);
      void pour(response);
    });
    const request = ask({ port: fixture.port, host: '127.0.0.1', path: 'http://a.example/' }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(await sip(response as AsyncIterable<Buffer>)).toBe(wholeDigest);
    expect(maxHeld).toBeLessThan(2 * mebibyte);
  });

  it('pass a tunnel both ways at once, and little of it waits', async () => {
    const server = await RawServer.open(() => {});
    closeServer = () => server.close();
    await openTo(server.port);
    const client = connect({ port: fixture.port, host: '127.0.0.1', allowHalfOpen: true });
    client.write(connectBytes('a.example:443'));
    await received(client, '\r\n\r\n');
    client.removeAllListeners('data');
    client.pause();
    const [upstream] = server.sockets as [Socket];
    upstream.removeAllListeners('data');
    upstream.pause();
    const [, , there, back] = await Promise.all([
      pour(client),
      pour(upstream),
      sip(halfOf(upstream)),
      sip(halfOf(client)),
    ]);
    expect([there, back]).toEqual([wholeDigest, wholeDigest]);
    expect(maxHeld).toBeLessThan(2 * mebibyte);
  });
});

it('the proxy keeps what a client has yet to read of a tunnel that has ended on the other side', async () => {
  const server = await RawServer.open(() => {});
  closeServer = () => server.close();
  await openTo(server.port);
  const client = connect({ port: fixture.port, host: '127.0.0.1', allowHalfOpen: true });
  client.write(connectBytes('a.example:443'));
  await received(client, '\r\n\r\n');
  client.removeAllListeners('data');
  client.pause();
  client.end();
  const [toServer] = fixture.upstreams as [Socket];
  const [toClient] = fixture.clients as [Socket];
  const [upstream] = server.sockets as [Socket];
  let sent = 0;
  // Until the system takes no more for the client, and some has to wait in the proxy.
  while (toClient.writableLength === 0 && sent < total) {
    upstream.write(piece);
    sent += piece.length;
    while (toServer.bytesRead < sent) await once(toServer, 'data');
  }
  const closed = once(toServer, 'close');
  upstream.end();
  await closed;
  let read = 0;
  for await (const bytes of halfOf(client)) read += bytes.length;
  expect(read).toBe(sent);
});

describe('one side that goes away', () => {
  it('in the middle of a response takes the other with it', async () => {
    let upstream: Socket | undefined;
    const server = await RawServer.open((socket) => {
      upstream = socket;
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        const fill = (): void => {
          while (!socket.destroyed && socket.write(piece));
        };
        socket.on('drain', fill);
        fill();
      });
    });
    closeServer = () => server.close();
    await openTo(server.port);
    const client = connect(fixture.port, '127.0.0.1');
    client.write(getBytes('http://a.example/'));
    await received(client, 'xxxx');
    const gone = new Promise((resolve) => upstream?.once('close', resolve));
    client.resetAndDestroy();
    await gone;
    expect(fixture.upstreams.map(({ destroyed }) => destroyed)).toEqual([true]);
  });

  it('in the middle of a request takes the other with it', async () => {
    const server = await RawServer.open(() => {});
    closeServer = () => server.close();
    await openTo(server.port);
    const client = connect(fixture.port, '127.0.0.1');
    client.write('POST http://a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc');
    const [upstream] = (await once(server.server, 'connection')) as [Socket];
    await received(upstream, 'abc');
    const gone = new Promise((resolve) => upstream.once('close', resolve));
    upstream.on('end', () => upstream.end());
    client.resetAndDestroy();
    await gone;
    expect(fixture.upstreams.map(({ destroyed }) => destroyed)).toEqual([true]);
  });

  it('before the answer takes the other with it', async () => {
    const server = await RawServer.open(() => {});
    closeServer = () => server.close();
    await openTo(server.port);
    const client = connect(fixture.port, '127.0.0.1');
    client.write(getBytes('http://a.example/'));
    const [upstream] = (await once(server.server, 'connection')) as [Socket];
    await received(upstream, '\r\n\r\n');
    const gone = new Promise((resolve) => upstream.once('close', resolve));
    upstream.on('end', () => upstream.end());
    client.resetAndDestroy();
    await gone;
    expect(fixture.upstreams.map(({ destroyed }) => destroyed)).toEqual([true]);
  });

  it('stays until it has read why, when it is a client that was refused while it still sends', async () => {
    closeServer = async () => {};
    await openTo(1);
    const client = connect({ port: fixture.port, host: '127.0.0.1', allowHalfOpen: true });
    client.write('POST http://b.example/ HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n');
    const ended = once(client, 'close');
    const heard: Buffer[] = [];
    for (let sent = 0; sent < 8 * mebibyte; sent += piece.length) {
      if (!client.write(piece)) await once(client, 'drain');
    }
    client.end();
    client.on('data', (bytes: Buffer) => heard.push(bytes));
    await ended;
    expect(parseResponse(Buffer.concat(heard).toString()).status).toBe(403);
  });

  it('while the name server is still asked stops the request', async () => {
    let answer: (resolution: { kind: 'addresses'; addresses: string[] }) => void = () => {};
    const wasAsked = new Promise<void>((asked) => {
      void openTo(1, {
        resolver: {
          resolve: () => {
            asked();
            return new Promise((resolve) => (answer = resolve));
          },
        },
      }).then(() => connect(fixture.port, '127.0.0.1').end(getBytes('http://a.example/')).resume());
    });
    closeServer = async () => {};
    await wasAsked;
    await fixture.proxy.close();
    answer({ kind: 'addresses', addresses: ['93.184.216.34'] });
    await new Promise((resolve) => setImmediate(resolve));
    expect(fixture.connects).toEqual([]);
  });
});

describe('many connections', () => {
  it('get service up to a number, and a refusal beyond it', async () => {
    const server = await RawServer.answering('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine');
    closeServer = () => server.close();
    await openTo(server.port, { limits: { maxConnections: 2 } });
    const waiting = [connect(fixture.port, '127.0.0.1'), connect(fixture.port, '127.0.0.1')];
    for (const socket of waiting) socket.write('GET http');
    await Promise.all(waiting.map((socket) => once(socket, 'connect')));
    const { status, body } = parseResponse(await exchange({ port: fixture.port, bytes: [''] }));
    expect([status, body]).toEqual([503, 'Too many connections are open at once.\n']);
    expect(fixture.decisions).toEqual([
      { destination: null, verdict: 'refused', reason: 'Too many connections are open at once.' },
    ]);
    const freed = new Promise((resolve) => fixture.clients[0]?.once('close', resolve));
    waiting[0]?.destroy();
    await freed;
    const served = await exchange({
      port: fixture.port,
      bytes: [getBytes('http://a.example/', ['Connection: close'])],
    });
    expect(parseResponse(served).status).toBe(200);
    waiting[1]?.destroy();
  });

  it('end without a word when even those with a refusal are many', async () => {
    closeServer = async () => {};
    await openTo(1, { limits: { maxConnections: 1 } });
    const served = connect(fixture.port, '127.0.0.1');
    await once(served, 'connect');
    const told = connect({ port: fixture.port, host: '127.0.0.1', allowHalfOpen: true });
    expect(await received(told, 'at once.\n')).toMatch(/^HTTP\/1\.1 503 /);
    expect(await exchange({ port: fixture.port, bytes: [getBytes('http://a.example/')] })).toBe('');
    served.destroy();
    told.destroy();
  });

  it('get service or a refusal each with 1,000 clients, and all are gone in the end', async () => {
    const server = await RawServer.answering('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine');
    closeServer = () => server.close();
    await openTo(server.port);
    const bytes = [getBytes('http://a.example/', ['Connection: close'])];
    const clients = Array.from({ length: 1_000 }, () => exchange({ port: fixture.port, bytes }));
    const statuses = (await Promise.all(clients)).map((text) => (text === '' ? 'cut' : parseResponse(text).status));
    const served = statuses.filter((status) => status === 200).length;
    expect(statuses.filter((status) => ![200, 503, 'cut'].includes(status))).toEqual([]);
    expect(served).toBeGreaterThanOrEqual(256);
    expect(fixture.connects.length).toBe(served);
    await fixture.proxy.close();
    expect([...fixture.clients, ...fixture.upstreams].every(({ closed }) => closed)).toBe(true);
  });

  it('one after another leave nothing behind', async () => {
    const server = await RawServer.answering('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine');
    closeServer = () => server.close();
    await openTo(server.port, { limits: { maxConnections: 1 } });
    const bytes = [getBytes('http://a.example/', ['Connection: close'])];
    for (let round = 0; round < 50; round += 1) {
      expect(parseResponse(await exchange({ port: fixture.port, bytes })).status).toBe(200);
      const closing = fixture.clients.at(-1);
      if (closing?.closed === false) await once(closing, 'close');
    }
  });
});

it('the proxy takes nothing more once it is closed', async () => {
  const server = await RawServer.open(() => {});
  closeServer = () => server.close();
  await openTo(server.port);
  await fixture.proxy.close();
  await fixture.proxy.close();
  expect(await exchange({ port: fixture.port, bytes: [getBytes('http://a.example/')] })).toBe('');
  expect(fixture.connects).toEqual([]);
});
