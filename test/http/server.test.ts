import { connect, createServer } from 'node:net';
import { once } from 'node:events';
import { Readable } from 'node:stream';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Secret } from '../../src/diagnostics/secret.ts';
import { HttpRefusal } from '../../src/http/refusal.ts';
import { emptyReply, jsonReply } from '../../src/http/reply.ts';
import type { Route } from '../../src/http/route.ts';
import { HttpServer, type HttpServerOptions } from '../../src/http/server.ts';
import { ask, exchange, parseResponse, received } from './raw-client.ts';

const mebibyte = 1024 * 1024;

let handled: string[] = [];
let bugs: unknown[] = [];
let release: () => void = () => undefined;
let opened: HttpServer[] = [];
let holding: Promise<Readable>;
let hold: (source: Readable) => void = () => undefined;

const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '/',
    body: 'whole',
    maxBytes: 10 * mebibyte,
    handle: ({ body }) => {
      handled.push(`POST / ${body.length}`);
      return jsonReply({ bytes: body.length });
    },
  },
  {
    method: 'GET',
    path: '/card',
    open: true,
    body: 'unread',
    handle: () => ({ kind: 'bytes', status: 200, contentType: 'application/json', bytes: Buffer.from('{"a":1}') }),
  },
  {
    method: 'GET',
    path: '/echo/',
    prefix: true,
    body: 'unread',
    handle: ({ path, query }) => jsonReply({ path, query }),
  },
  {
    method: '*',
    path: '/any/',
    prefix: true,
    body: 'unread',
    handle: ({ method }) => {
      handled.push(method);
      return emptyReply(204);
    },
  },
  {
    method: 'PUT',
    path: '/streamed',
    body: 'streamed',
    maxBytes: mebibyte,
    handle: async ({ body }) => {
      let bytes = 0;
      for await (const chunk of body) bytes += chunk.length;
      handled.push(`PUT ${bytes}`);
      return jsonReply({ bytes });
    },
  },
  {
    method: 'PUT',
    path: '/late',
    body: 'streamed',
    maxBytes: mebibyte,
    handle: async ({ body }) => {
      handled.push('late');
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      try {
        for await (const chunk of body) handled.push(`${chunk.length} bytes`);
      } finally {
        handled.push('over');
      }
      return emptyReply(200);
    },
  },
  { method: 'PUT', path: '/unwanted', body: 'streamed', maxBytes: mebibyte, handle: () => emptyReply(409) },
  {
    method: 'GET',
    path: '/slow',
    body: 'unread',
    handle: async () => {
      handled.push('slow');
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return jsonReply('slow');
    },
  },
  {
    method: 'GET',
    path: '/events',
    body: 'unread',
    handle: () => ({
      kind: 'stream',
      start(response): void {
        handled.push('started');
        response.useChunkedEncodingByDefault = false;
        response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'keep-alive' });
        response.end('frames');
      },
    }),
  },
  {
    method: 'GET',
    path: '/short',
    body: 'unread',
    handle: () => ({
      kind: 'readable',
      status: 200,
      contentType: 'text/plain',
      length: 10,
      source: Readable.from([Buffer.from('12345')]),
    }),
  },
  {
    method: 'GET',
    path: '/held',
    body: 'unread',
    handle: () => {
      const source = new Readable({ read: () => undefined });
      hold(source);
      return { kind: 'readable', status: 200, contentType: 'text/plain', length: 1, source };
    },
  },
  {
    method: 'GET',
    path: '/refused',
    body: 'unread',
    handle: () => {
      throw new HttpRefusal(410, 'handle_expired', 'It has expired.');
    },
  },
  {
    method: 'GET',
    path: '/bug',
    body: 'unread',
    handle: async () => {
      await Promise.resolve();
      throw new TypeError('a bug');
    },
  },
];

async function open(options: Partial<HttpServerOptions> = {}): Promise<number> {
  const server = new HttpServer({ routes, token: null, onBug: (error) => bugs.push(error), ...options });
  opened.push(server);
  const bound = await server.bind({ address: '127.0.0.1', port: 0 });
  if (bound.kind !== 'bound') throw new Error(bound.kind);
  return bound.port;
}

let port = 0;

beforeEach(async () => {
  handled = [];
  bugs = [];
  opened = [];
  holding = new Promise((resolve) => {
    hold = resolve;
  });
  port = await open();
});

afterEach(async () => {
  release();
  await Promise.all(opened.map((server) => server.close(0)));
});

/** Bytes as they are, then the sending side closed. */
async function send(text: string, to = port): Promise<ReturnType<typeof parseResponse>> {
  return parseResponse(await exchange({ port: to, bytes: [text], halfClose: true }));
}

function chunked(body: string, headers: readonly string[] = []): string {
  return ['POST / HTTP/1.1', 'Host: localhost', 'Transfer-Encoding: chunked', ...headers, '', body].join('\r\n');
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
    expect((await send(chunked('3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n'))).body).toBe('{"bytes":5}');
    expect((await send('POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc')).body).toBe('{"bytes":3}');
    const upgrade = { headers: ['Upgrade: h2c'], body: 'abcd' };
    expect((await ask(port, 'POST / HTTP/1.1', upgrade)).body).toBe('{"bytes":4}');
  });

  it('is answered in order when several come in one packet', async () => {
    const text = await exchange({ port, bytes: [['a', 'bb', 'ccc'].map(posted).join('')], halfClose: true });
    expect(text.match(/\{"bytes":\d\}/g)).toEqual(['{"bytes":1}', '{"bytes":2}', '{"bytes":3}']);
  });

  it('is answered although what follows it is garbage', async () => {
    const text = await exchange({ port, bytes: [`${posted('a')}garbage\r\n\r\n`], halfClose: true });
    expect(parseResponse(text)).toMatchObject({ status: 200, body: '{"bytes":1}' });
  });

  it('gives its handler the target as it was sent', async () => {
    const { body } = await ask(port, 'GET /echo/%2e%2E/..//a/./%00?x=%2F?y HTTP/1.1');
    expect(JSON.parse(body)).toEqual({ path: '/echo/%2e%2E/..//a/./%00', query: 'x=%2F?y' });
  });

  it('is told to send its body when it asks first', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n');
    await received(socket, 'HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('abc');
    expect(await received(socket, '{"bytes":3}')).toContain('HTTP/1.1 200 OK');
    socket.destroy();
  });

  it('with HEAD is answered like GET, without the body', async () => {
    const response = await ask(port, 'HEAD /card HTTP/1.1');
    expect(response).toMatchObject({ status: 200, body: '' });
    expect(response.headers['content-length']).toBe('7');
  });
});

describe('an unsound request is refused and reaches no handler', () => {
  it.each([
    ['two Host headers', 'GET /card HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n', 400, 'ambiguous_host'],
    ['an absolute target', 'GET http://localhost/card HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'bad_target'],
    ['the target *', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'bad_target'],
    ['a fragment', 'GET /card#a HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'bad_target'],
    ['HTTP/0.9', 'GET /card\r\n\r\n', 505, 'unknown_http_version'],
    [
      'Transfer-Encoding in HTTP/1.0',
      'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      400,
      'ambiguous_body',
    ],
    [
      'a coding beside chunked',
      'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      501,
      'unknown_transfer_coding',
    ],
    [
      'another expectation',
      'POST / HTTP/1.1\r\nHost: localhost\r\nExpect: more\r\nContent-Length: 1\r\n\r\na',
      417,
      'expectation_failed',
    ],
    ['an unknown path', 'GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n', 404, 'not_found'],
    ['a known path with a slash after it', 'GET /card/ HTTP/1.1\r\nHost: localhost\r\n\r\n', 404, 'not_found'],
    ['a path that decodes to a known one', 'GET /c%61rd HTTP/1.1\r\nHost: localhost\r\n\r\n', 404, 'not_found'],
  ])('%s', async (_name, text, status, error) => {
    const response = await send(text);
    expect(response.status).toBe(status);
    expect(JSON.parse(response.body)).toEqual({ error, message: expect.any(String) });
    expect(handled).toEqual([]);
  });

  it.each([
    ['no Host', 'GET /card HTTP/1.1\r\n\r\n'],
    [
      'Content-Length, then Transfer-Encoding',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    ],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc'],
    ['a chunk size that is no number', chunked('zz\r\nabc\r\n0\r\n\r\n')],
    ['a chunk longer than its size', chunked('3\r\nabcd\r\n0\r\n\r\n')],
    ['a chunk without its end', chunked('3\r\nabc0\r\n\r\n')],
    ['a body that ends early', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\nabc'],
    ['a chunked body that ends early', chunked('3\r\nabc\r\n')],
    ['a space in a header name', 'GET /card HTTP/1.1\r\nHost : localhost\r\n\r\n'],
    ['a folded header', 'GET /card HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n'],
    ['a byte beyond ASCII in the target', 'GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['NUL in the target', 'GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ])('%s, by the parser', async (_name, text) => {
    expect((await send(text)).status).toBe(400);
    expect(handled).toEqual([]);
  });

  it('headers of more than 16 KiB', async () => {
    const response = await send(`GET /card HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(17_000)}\r\n\r\n`);
    expect(response.status).toBe(431);
  });

  it('a tunnel', async () => {
    expect((await send('CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n')).status).toBe(405);
  });

  it('a method the path does not take, naming those it takes', async () => {
    const response = await ask(port, 'POST /card HTTP/1.1', { body: 'abc' });
    expect(response.status).toBe(405);
    expect(response.headers['allow']).toBe('GET, HEAD');
    expect(JSON.parse(response.body)).toEqual({
      error: 'method_not_allowed',
      message: 'This path takes GET, HEAD.',
    });
  });

  it('a preflight, with no word of permission', async () => {
    const response = await ask(port, 'OPTIONS / HTTP/1.1', {
      headers: ['Origin: https://example.org', 'Access-Control-Request-Method: POST'],
    });
    expect(response.status).toBe(405);
    expect(response.head.toLowerCase()).not.toContain('access-control');
  });
});

describe('the Host of a loopback listener', () => {
  it.each(['localhost', 'LOCALHOST:1', 'a.localhost:8080', '127.0.0.1', '127.255.3.4:80', '[::1]', '[::1]:9'])(
    'may be %s',
    async (host) => {
      expect((await send(`GET /card HTTP/1.0\r\nHost: ${host}\r\n\r\n`)).status).toBe(200);
    },
  );

  it.each([
    'example.org',
    'localhost.example.org',
    'localhost.',
    'xlocalhost',
    '.localhost',
    '127.0.0.1.example.org',
    '127.1',
    '127.0.0.256',
    '[::2]',
    '0.0.0.0',
    'localhost:80:80',
    'user@localhost',
    '',
  ])('may not be %j', async (host) => {
    const response = await send(`GET /card HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(response.status).toBe(421);
    expect(JSON.parse(response.body)).toMatchObject({ error: 'host_refused' });
  });

  it('may be absent in HTTP/1.0, which no browser speaks', async () => {
    expect((await send('GET /card HTTP/1.0\r\n\r\n')).status).toBe(200);
  });
});

describe('a body over the limit', () => {
  it('of 11 MiB is answered 413, and the client can read the answer after sending it all', async () => {
    const response = await ask(port, 'POST / HTTP/1.1', { body: Buffer.alloc(11 * mebibyte) });
    expect(response.status).toBe(413);
    expect(response.headers['connection']).toBe('close');
    expect(JSON.parse(response.body)).toEqual({
      error: 'body_too_large',
      message: 'The request body exceeds 10485760 bytes.',
    });
    expect(handled).toEqual([]);
  });

  it('of exactly 10 MiB is not over it', async () => {
    const response = await ask(port, 'POST / HTTP/1.1', { body: Buffer.alloc(10 * mebibyte) });
    expect(response.body).toBe('{"bytes":10485760}');
  });

  it('is answered as soon as a chunked one passes it', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write(chunked(''));
    const answered = received(socket, 'HTTP/1.1 413');
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(mebibyte), Buffer.from('\r\n')]);
    for (let sent = 0; sent < 11; sent += 1) socket.write(chunk);
    await answered;
    await once(socket, 'close');
    expect(handled).toEqual([]);
  });

  it('is not asked for when it is announced', async () => {
    const response = await send(
      'POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n',
    );
    expect(response.status).toBe(413);
  });

  it('hides no further request behind it', async () => {
    const text = await exchange({
      port,
      bytes: [
        'POST /card HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc',
        'DELETE /any/a HTTP/1.1\r\nHost: localhost\r\n\r\n',
      ],
      halfClose: true,
    });
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 405']);
    expect(handled).toEqual([]);
  });
});

describe('a streamed body', () => {
  it('is read as it arrives', async () => {
    expect((await ask(port, 'PUT /streamed HTTP/1.1', { body: Buffer.alloc(300_000) })).body).toBe('{"bytes":300000}');
  });

  it.each([
    ['ends early', 'Content-Length: 30\r\n\r\nabc'],
    ['is malformed', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'],
  ])('that %s is never acted upon', async (_name, rest) => {
    expect((await send(`PUT /streamed HTTP/1.1\r\nHost: localhost\r\n${rest}`)).status).toBe(400);
    expect(handled).toEqual([]);
    expect(bugs).toEqual([]);
  });

  it('whose sender has left before it is read is no bug', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('PUT /late HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\nabc');
    while (!handled.includes('late')) await new Promise(setImmediate);
    socket.resetAndDestroy();
    await once(socket, 'close');
    await ask(port, 'GET /card HTTP/1.1');
    release();
    while (!handled.includes('over')) await new Promise(setImmediate);
    expect(bugs).toEqual([]);
  });

  it('over the limit is answered 413, announced or not', async () => {
    const body = 'a'.repeat(mebibyte + 1);
    expect((await ask(port, 'PUT /streamed HTTP/1.1', { body })).status).toBe(413);
    const pieces = `100001\r\n${body}\r\n0\r\n\r\n`;
    const response = await send(
      `PUT /streamed HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${pieces}`,
    );
    expect(response.status).toBe(413);
    expect(handled).toEqual([]);
  });

  it('that nobody reads is not asked for', async () => {
    const response = await send(
      'PUT /unwanted HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n',
    );
    expect(response.status).toBe(409);
  });
});

describe('a token', () => {
  let guarded = 0;

  beforeEach(async () => {
    guarded = await open({ token: new Secret('tökén one') });
  });

  it('is not asked for on an open route', async () => {
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
  ])('is missed: %s', async (header) => {
    const response = await ask(guarded, 'POST / HTTP/1.1', { headers: [header], body: 'abc' });
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toBe('Bearer');
    expect(JSON.parse(response.body)).toEqual({ error: 'unauthorized', message: 'A valid bearer token is required.' });
    expect(handled).toEqual([]);
  });

  it('is asked for before a path or method is said to be unknown', async () => {
    expect((await ask(guarded, 'GET /nothing HTTP/1.1')).status).toBe(401);
    expect((await ask(guarded, 'DELETE /card HTTP/1.1')).status).toBe(401);
  });

  it('is missed before a body is asked for', async () => {
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

  it('that has a bug is reported, and the client gets 500', async () => {
    const response = await ask(port, 'GET /bug HTTP/1.1');
    expect(response.status).toBe(500);
    expect(JSON.parse(response.body)).toMatchObject({ error: 'internal_error' });
    expect(bugs).toEqual([new TypeError('a bug')]);
  });

  it('may take every method', async () => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'PROPFIND', 'OPTIONS']) {
      expect((await ask(port, `${method} /any/x HTTP/1.1`)).status).toBe(204);
    }
    expect(handled).toEqual(['GET', 'HEAD', 'DELETE', 'PROPFIND', 'OPTIONS']);
  });

  it('starts a stream only when the answers before it are written', async () => {
    const text = exchange({
      port,
      bytes: [
        'GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\na',
      ],
      halfClose: true,
    });
    while (!handled.includes('POST / 1')) await new Promise(setImmediate);
    expect(handled).toEqual(['slow', 'POST / 1']);
    release();
    expect(await text).toMatch(/"slow"HTTP\/1\.1 200 OK\r\ncontent-type: text\/event-stream\r\n[^]*\r\n\r\nframes$/);
  });

  it('whose source is shorter than announced has the connection cut', async () => {
    const response = await ask(port, 'GET /short HTTP/1.1');
    expect(response.headers['content-length']).toBe('10');
    expect(response.body.length).toBeLessThan(10);
  });

  it.each(['', 'GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n'])(
    'whose client leaves has its source destroyed, also while it waits for its turn: %j',
    async (before) => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`${before}GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const source = await holding;
      expect(source.destroyed).toBe(false);
      socket.destroy();
      await new Promise((resolve) => source.once('close', resolve));
      expect(bugs).toEqual([]);
    },
  );

  it('may go without Date', async () => {
    const dateless = await open({ sendDate: false });
    expect((await ask(dateless, 'GET /card HTTP/1.1')).head).toBe(
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\nConnection: close',
    );
  });
});

describe('binding and closing', () => {
  it('tells a taken port from an address that is not there', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const bound = taken.address();
    if (bound === null || typeof bound === 'string') throw new Error('not a port');
    const server = new HttpServer({ routes, token: null, onBug: () => undefined });
    expect(await server.bind({ address: '127.0.0.1', port: bound.port })).toEqual({ kind: 'port-taken' });
    const elsewhere = new HttpServer({ routes, token: null, onBug: () => undefined });
    const outcome = await elsewhere.bind({ address: '192.0.2.1', port: 0 });
    expect(outcome).toEqual({ kind: 'refused', reason: 'EADDRNOTAVAIL' });
    taken.close();
  });

  it('lets a running answer end and closes its connection', async () => {
    const answer = exchange({ port, bytes: ['GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n'] });
    while (!handled.includes('slow')) await new Promise(setImmediate);
    const closed = opened[0]?.close(10_000);
    release();
    expect(parseResponse(await answer)).toMatchObject({ status: 200, body: '"slow"' });
    await closed;
  });

  it('cuts what has not ended after the grace, and is closed when asked again', async () => {
    const answer = exchange({ port, bytes: ['GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n'] });
    while (!handled.includes('slow')) await new Promise(setImmediate);
    await opened[0]?.close(20);
    expect(await answer).toBe('');
    await opened[0]?.close(20);
  });
});
