import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { Secret } from '../../src/diagnostics/secret.ts';
import { HttpServer } from '../../src/http/server.ts';
import type { Answered } from '../../src/http/server-options.ts';
import { Kit, mebibyte } from './kit.ts';
import { ask, exchange, parseResponse, received, type RawResponse } from './raw-client.ts';

let kit: Kit;
let port = 0;

beforeEach(async () => {
  kit = new Kit();
  port = await kit.open();
});

afterEach(() => kit.close());

/** Bytes as they are, then the sending side closed. */
async function send(text: string, to = port): Promise<RawResponse> {
  return parseResponse(await exchange({ port: to, bytes: [text], halfClose: true }));
}

function posted(body: string): string {
  return `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

describe('a sound request', () => {
  it('reaches its handler with the whole body', async () => {
    const response = await ask(port, 'POST / HTTP/1.1', { body: '{"a":1}' });
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({ 'content-type': 'application/json', 'content-length': '11' });
    expect(response.body).toBe('{"bytes":7}');
  });

  it('reaches its handler with a chunked body, in HTTP/1.0, and with an Upgrade that is not taken', async () => {
    const chunked =
      'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n';
    expect((await send(chunked)).body).toBe('{"bytes":5}');
    expect((await send('POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc')).body).toBe('{"bytes":3}');
    const upgrade = { headers: ['Upgrade: h2c'], body: 'abcd' };
    expect((await ask(port, 'POST / HTTP/1.1', upgrade)).body).toBe('{"bytes":4}');
  });

  it('gets its answer in order when several come in one packet', async () => {
    const text = await exchange({ port, bytes: [['a', 'bb', 'ccc'].map(posted).join('')], halfClose: true });
    expect(text.match(/\{"bytes":\d\}/g)).toEqual(['{"bytes":1}', '{"bytes":2}', '{"bytes":3}']);
  });

  it('runs behind another one after the answer to that one, with a body that came in pieces', async () => {
    const slow = 'GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const large = `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${mebibyte}\r\n\r\n`;
    const last = 'POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc';
    const text = exchange({ port, bytes: [slow, large, Buffer.alloc(mebibyte), last] });
    await kit.noted('slow');
    expect(kit.handled).toEqual(['slow']);
    kit.release();
    expect(await text).toMatch(/"slow"HTTP[^]*\{"bytes":1048576\}HTTP[^]*\{"bytes":3\}$/);
    expect(kit.handled).toEqual(['slow', 'POST / 1048576', 'POST / 3']);
  });

  it('loses its connection when a hundred wait there already', async () => {
    const slow = 'GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const card = 'GET /card HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const enough = exchange({
      port,
      bytes: [slow + card.repeat(99), card.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')],
    });
    await kit.noted('slow');
    kit.release();
    expect((await enough).split('{"a":1}')).toHaveLength(101);
    expect(await exchange({ port, bytes: [slow + card.repeat(101)] })).toBe('');
  });

  it('gets its answer although what follows it is garbage', async () => {
    const text = await exchange({ port, bytes: [`${posted('a')}garbage\r\n\r\n`], halfClose: true });
    expect(parseResponse(text)).toMatchObject({ status: 200, body: '{"bytes":1}' });
  });

  it('gets its answer although garbage comes while it is handled, and its connection closes', async () => {
    const text = exchange({ port, bytes: ['GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\nzzzz\r\n\r\n'] });
    await kit.noted('slow');
    kit.release();
    expect(await text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*"slow"$/);
  });

  it('gives its handler the target as it was sent', async () => {
    const { body } = await ask(port, 'GET /echo/%2e%2E/..//a/./%00?x=%2F?y HTTP/1.1');
    expect(JSON.parse(body)).toEqual({ path: '/echo/%2e%2E/..//a/./%00', query: 'x=%2F?y' });
  });

  it('may send its body when it asks first', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n');
    await received(socket, 'HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('abc');
    expect(await received(socket, '{"bytes":3}')).toContain('HTTP/1.1 200 OK');
    socket.destroy();
  });

  it('with HEAD gets the answer of GET, without the body', async () => {
    expect(await ask(port, 'HEAD /read HTTP/1.1')).toMatchObject({
      status: 200,
      headers: { 'content-length': '4' },
      body: '',
    });
    await kit.noted('closed /read');
    const response = await ask(port, 'HEAD /card HTTP/1.1');
    expect(response).toMatchObject({ status: 200, body: '' });
    expect(response.headers['content-length']).toBe('7');
  });
});

describe('the report of answers', () => {
  it('has one account for each request, of refusals and of clients that left too', async () => {
    const told: Answered[] = [];
    const logged = await kit.open({ onAnswered: (answered) => told.push(answered), token: new Secret('k') });
    const { head, body } = await ask(logged, 'GET /read?a=%2F HTTP/1.1', { headers: ['Authorization: Bearer k'] });
    await ask(logged, 'POST / HTTP/1.1', { body: 'abc' });
    const leaving = connect(logged, '127.0.0.1');
    leaving.write('PUT /late HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Length: 9\r\n\r\nabc');
    await kit.noted('late');
    leaving.destroy();
    while (told.length < 3) await new Promise(setImmediate);
    expect(told.map(({ method, target, status }) => [method, target, status])).toEqual([
      ['GET', '/read?a=%2F', 200],
      ['POST', '/', 401],
      ['PUT', '/late', null],
    ]);
    expect(told.map(({ ms }) => ms >= 0)).toEqual([true, true, true]);
    expect(told[0]?.sentBytes).toBe(`${head}\r\n\r\n${body}`.length);
  });
});

describe('a streamed body', () => {
  it('reaches its reader as it arrives', async () => {
    expect((await ask(port, 'PUT /streamed HTTP/1.1', { body: Buffer.alloc(300_000) })).body).toBe('{"bytes":300000}');
  });

  it.each([
    ['ends early', 'Content-Length: 30\r\n\r\nabc'],
    ['is malformed', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'],
  ])('has no effect when it %s', async (_name, rest) => {
    expect((await send(`PUT /streamed HTTP/1.1\r\nHost: localhost\r\n${rest}`)).status).toBe(400);
    expect(kit.handled).toEqual([]);
    expect(kit.bugs).toEqual([]);
  });

  it('may lose its sender before it is read, which is no bug', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('PUT /late HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\nabc');
    await kit.noted('late');
    socket.resetAndDestroy();
    await once(socket, 'close');
    await ask(port, 'GET /card HTTP/1.1');
    kit.release();
    await kit.noted('over');
    expect(kit.bugs).toEqual([]);
  });

  it('over the limit gets 413, announced or not', async () => {
    const body = 'a'.repeat(mebibyte + 1);
    expect((await ask(port, 'PUT /streamed HTTP/1.1', { body })).status).toBe(413);
    const pieces = `100001\r\n${body}\r\n0\r\n\r\n`;
    const response = await send(
      `PUT /streamed HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${pieces}`,
    );
    expect(response.status).toBe(413);
    expect(kit.handled).toEqual([]);
  });

  it('gets no invitation when nobody reads it', async () => {
    const response = await send(
      'PUT /unwanted HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n',
    );
    expect(response.status).toBe(409);
  });
});

describe('a token', () => {
  let guarded = 0;

  beforeEach(async () => {
    guarded = await kit.open({ token: new Secret('tökén one') });
  });

  it('stays unneeded on an open route', async () => {
    expect((await ask(guarded, 'GET /card HTTP/1.1')).status).toBe(200);
  });

  it('lets its bearer in', async () => {
    const authorization = `Authorization: bEaReR ${Buffer.from('tökén one').toString('latin1')}`;
    expect((await ask(guarded, 'POST / HTTP/1.1', { headers: [authorization], body: 'abc' })).body).toBe('{"bytes":3}');
  });

  it.each([
    'X: none',
    'Authorization: Bearer',
    'Authorization: Bearer wrong',
    'Authorization: Basic dDprZW4=',
    `Authorization: Bearer ${'a'.repeat(9000)}`,
  ])('counts as missing: %s', async (header) => {
    const response = await ask(guarded, 'POST / HTTP/1.1', { headers: [header], body: 'abc' });
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toBe('Bearer');
    expect(JSON.parse(response.body)).toEqual({ error: 'unauthorized', message: 'A valid bearer token is required.' });
    expect(kit.handled).toEqual([]);
  });

  it('comes before an unknown path or method', async () => {
    expect((await ask(guarded, 'GET /nothing HTTP/1.1')).status).toBe(401);
    expect((await ask(guarded, 'DELETE /card HTTP/1.1')).status).toBe(401);
  });

  it('comes before a body', async () => {
    const text = await exchange({
      port: guarded,
      bytes: ['POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n'],
      halfClose: true,
    });
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe('a handler', () => {
  it('refuses by throwing', async () => {
    const response = await ask(port, 'GET /refused HTTP/1.1');
    expect(response).toMatchObject({ status: 410, body: '{"error":"handle_expired","message":"It has expired."}' });
  });

  it('gets reported for a bug, and the client gets 500', async () => {
    const response = await ask(port, 'GET /bug HTTP/1.1');
    expect(response.status).toBe(500);
    expect(JSON.parse(response.body)).toMatchObject({ error: 'internal_error' });
    expect(kit.bugs).toEqual([new TypeError('a bug')]);
  });

  it('may take every method', async () => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'PROPFIND', 'OPTIONS']) {
      expect((await ask(port, `${method} /any/x HTTP/1.1`)).status).toBe(204);
    }
    expect(kit.handled).toEqual(['GET', 'HEAD', 'DELETE', 'PROPFIND', 'OPTIONS']);
  });

  const [slow, events] = [
    'GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n',
  ];
  const post = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\na';

  it('starts a stream only when the answers before it are written, and nothing behind it', async () => {
    const text = exchange({ port, bytes: [slow, post, events, post], halfClose: true });
    await kit.noted('slow');
    expect(kit.handled).toEqual(['slow']);
    kit.release();
    expect(await text).toMatch(
      /"slow"HTTP\/1\.1 200 OK\r\n[^]*HTTP\/1\.1 200 OK\r\ncontent-type: text\/event-stream\r\n[^]*\r\n\r\nframes$/,
    );
    expect(kit.handled).toEqual(['slow', 'POST / 1', 'started']);
  });

  it('loses its connection while it streams when the client asks on', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const received: string[] = [];
    socket.setEncoding('utf8').on('data', (text: string) => received.push(text));
    socket.write('GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
    socket.write(post);
    await once(socket, 'close');
    expect(received.join('')).toMatch(/\r\n\r\n$/);
    expect(kit.handled).toEqual([]);
  });

  it('loses the connection when its source is shorter than announced', async () => {
    const response = await ask(port, 'GET /short HTTP/1.1');
    expect(response.headers['content-length']).toBe('10');
    expect(response.body.length).toBeLessThan(10);
  });

  it('loses its source when its client leaves', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const source = await kit.holding;
    expect(source.destroyed).toBe(false);
    socket.resetAndDestroy();
    await new Promise((resolve) => source.once('close', resolve));
    expect(kit.bugs).toEqual([]);
  });

  it('stays uncalled when the client leaves while its request waits for its turn', async () => {
    const told: Answered[] = [];
    const logged = await kit.open({ onAnswered: (answered) => told.push(answered) });
    const socket = connect(logged, '127.0.0.1');
    socket.write(`${slow}${post}`);
    await kit.noted('slow');
    socket.resetAndDestroy();
    while (told.length < 1) await new Promise(setImmediate);
    kit.release();
    await ask(logged, 'POST / HTTP/1.1', { body: 'abc' });
    expect(kit.handled).toEqual(['slow', 'POST / 3']);
  });

  it('may go without Date', async () => {
    const dateless = await kit.open({ sendDate: false });
    expect((await ask(dateless, 'GET /card HTTP/1.1')).head).toBe(
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\nConnection: close',
    );
  });
});

describe('a client that ends its half of the connection behind its request', () => {
  const asking = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

  /** The server has seen the end: what came to it later is answered. */
  async function halfClosed(path: string): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    socket.end(asking(path));
    await once(socket, 'finish');
    await ask(port, 'GET /card HTTP/1.1');
    return socket;
  }

  it('gets its answer once there is one, and its connection closes', async () => {
    const socket = await halfClosed('/slow');
    const answer = received(socket, '"slow"');
    await kit.noted('slow');
    kit.release();
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*"slow"$/);
    await once(socket, 'close');
  });

  it('gets a stream of events, among comments', async () => {
    const socket = await halfClosed('/told');
    await received(socket, ':\n\n');
    const told = received(socket, 'data: 1\n\n');
    (await kit.telling).push('data: 1\n\n');
    expect(await told).toContain('data: 1');
    (await kit.telling).push(null);
    await once(socket, 'close');
  });

  it('loses the stream when comments show that it has left', async () => {
    const socket = await halfClosed('/told');
    const source = await kit.telling;
    const gone = new Promise((resolve) => source.once('close', resolve));
    socket.destroy();
    await gone;
    expect(kit.bugs).toEqual([]);
  });

  it('loses its connection after ten minutes without an answer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const socket = await halfClosed('/slow');
    await kit.noted('slow');
    const closed = once(socket, 'close');
    vi.advanceTimersByTime(10 * 60 * 1000);
    await closed;
    expect(socket.bytesRead).toBe(0);
  });

  it('has left, where a stream does not say that it goes on', async () => {
    expect(await exchange({ port, bytes: [asking('/endless')], halfClose: true })).toMatch(/\r\n\r\n$/);
  });
});

describe('binding and closing', () => {
  it('distinguishes a taken port from an address that is not there', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const bound = taken.address();
    if (bound === null || typeof bound === 'string') throw new Error('not a port');
    const server = new HttpServer({ routes: kit.routes, token: null, onBug: () => undefined });
    expect(await server.bind({ address: '127.0.0.1', port: bound.port })).toEqual({ kind: 'port-taken' });
    const elsewhere = new HttpServer({ routes: kit.routes, token: null, onBug: () => undefined });
    const outcome = await elsewhere.bind({ address: '192.0.2.1', port: 0 });
    expect(outcome).toEqual({ kind: 'refused', reason: 'EADDRNOTAVAIL' });
    taken.close();
  });

  it('lets a running answer end and closes its connection', async () => {
    const answer = exchange({ port, bytes: ['GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n'] });
    await kit.noted('slow');
    const closed = kit.servers[0]?.close(10_000);
    kit.release();
    expect(parseResponse(await answer)).toMatchObject({ status: 200, body: '"slow"' });
    await closed;
  });

  it('cuts what has not ended after the grace, and is closed when asked again', async () => {
    const answer = exchange({ port, bytes: ['GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n'] });
    await kit.noted('slow');
    await kit.servers[0]?.close(20);
    expect(await answer).toBe('');
    await kit.servers[0]?.close(20);
  });
});
