import { once } from 'node:events';
import { connect } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

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

function chunked(body: string, headers: readonly string[] = []): string {
  return ['POST / HTTP/1.1', 'Host: localhost', 'Transfer-Encoding: chunked', ...headers, '', body].join('\r\n');
}

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
    expect(kit.handled).toEqual([]);
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
    expect(kit.handled).toEqual([]);
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
    expect(response.status).toBe(403);
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

  it('may be any where a proxy is expected in front', async () => {
    const behind = await kit.open({ anyHost: true });
    expect(
      parseResponse(
        await exchange({
          port: behind,
          bytes: ['GET /card HTTP/1.1\r\nHost: registry.example\r\nConnection: close\r\n\r\n'],
        }),
      ).status,
    ).toBe(200);
  });

  it('may be absent in HTTP/1.0, which no browser speaks', async () => {
    expect((await send('GET /card HTTP/1.0\r\n\r\n')).status).toBe(200);
  });
});

describe('a body over the limit', () => {
  it('gets 413 at 11 MiB, and the client can read the answer after sending it all', async () => {
    const response = await ask(port, 'POST / HTTP/1.1', { body: Buffer.alloc(11 * mebibyte) });
    expect(response.status).toBe(413);
    expect(response.headers['connection']).toBe('close');
    expect(JSON.parse(response.body)).toEqual({
      error: 'body_too_large',
      message: 'The request body exceeds 10485760 bytes.',
    });
    expect(kit.handled).toEqual([]);
  });

  it('begins above exactly 10 MiB', async () => {
    const response = await ask(port, 'POST / HTTP/1.1', { body: Buffer.alloc(10 * mebibyte) });
    expect(response.body).toBe('{"bytes":10485760}');
  });

  it('gets its answer as soon as a chunked one passes it', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write(chunked(''));
    const answered = received(socket, 'HTTP/1.1 413');
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(mebibyte), Buffer.from('\r\n')]);
    for (let sent = 0; sent < 11; sent += 1) socket.write(chunk);
    await answered;
    await once(socket, 'close');
    expect(kit.handled).toEqual([]);
  });

  it('gets no invitation when it is announced', async () => {
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
    expect(kit.handled).toEqual([]);
  });
});

describe('a web page of another origin', () => {
  const asPage = (...lines: string[]): Promise<RawResponse> =>
    send(['GET /any/a HTTP/1.1', `Host: localhost:${port}`, ...lines, '', ''].join('\r\n'));

  it.each([
    'Origin: https://example.com',
    'Origin: null',
    'Origin:',
    'Origin: http://localhost',
    'Origin: http://localhost:1',
    'Origin: http://LOCALHOST:<port>',
    'Origin: http://127.0.0.1:<port>',
    'Sec-Fetch-Site: cross-site',
    'Sec-Fetch-Site: same-site',
    'Sec-Fetch-Site: anything',
    'Sec-Fetch-Mode: navigate',
    'Sec-Fetch-Mode: cors, cors',
    'Sec-Fetch-Dest: document',
    'Sec-Fetch-User: ?1',
    'sec-fetch-storage-access: active',
    'Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty',
    'Sec-Fetch-Site: none\r\nSec-Fetch-Site: none',
  ])('gets refused before anything is done: %s', async (line) => {
    const response = await asPage(line.replace('<port>', String(port)));
    expect([response.status, response.body]).toEqual([
      403,
      '{"error":"page_refused","message":"Requests of web pages are not taken."}',
    ]);
    expect(kit.handled).toEqual([]);
    expect(Object.keys(response.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it.each([
    'Sec-Fetch-Site: none',
    'Sec-Fetch-Site: same-origin',
    'Origin: http://localhost:<port>',
    'Sec-Fetch-Mode: cors',
    'Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty',
    'Origin: http://localhost:<port>\r\nSec-Fetch-Dest: empty',
  ])("excludes what a person typed, this server's own, and a program of Node: %s", async (line) => {
    expect((await asPage(line.replace('<port>', String(port)))).status).toBe(204);
  });
});
