import { connect } from 'node:net';

import { describe, expect, it } from 'vitest';

import { doorNames } from '@svc/artifacts/manifest/door-names.ts';
import { exchange, parseResponse, type RawResponse, received } from '../../kit/test/http/raw-client.ts';
import { type A2aCapsule, useA2aCapsules } from './a2a-capsule.ts';

const openCapsule = useA2aCapsules();
/** Every path at which a door takes a body. */
const paths = ['/a2a', '/mcp', '/v1/responses', '/v1/chat/completions'];
const call = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } },
});

async function open(): Promise<A2aCapsule> {
  return await openCapsule({ serve: [...doorNames] });
}

async function send({ port }: A2aCapsule, text: string): Promise<RawResponse> {
  return parseResponse(await exchange({ port, bytes: [text], halfClose: true }));
}

describe.each(paths)('%s refuses before the door hears of it', (path) => {
  const json = 'Content-Type: application/json\r\nA2A-Version: 1.0\r\nAccept: application/json, text/event-stream\r\n';
  const sized = `${json}Content-Length: ${call.length}\r\n`;
  const chunked = (body: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${json}Transfer-Encoding: chunked\r\n\r\n${body}`;

  it.each([
    ['two hosts', `POST ${path} HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n${sized}\r\n${call}`, 400],
    ['no host', `POST ${path} HTTP/1.1\r\n${sized}\r\n${call}`, 400],
    ['the name of another host', `POST ${path} HTTP/1.1\r\nHost: evil.example\r\n${sized}\r\n${call}`, 421],
    ['an absolute target', `POST http://localhost${path} HTTP/1.1\r\nHost: localhost\r\n${sized}\r\n${call}`, 400],
    ['a fragment', `POST ${path}#a HTTP/1.1\r\nHost: localhost\r\n${sized}\r\n${call}`, 400],
    ['a path beside it', `POST ${path}%2f HTTP/1.1\r\nHost: localhost\r\n${sized}\r\n${call}`, 404],
    ['HTTP/0.9', `POST ${path}\r\n\r\n`, 505],
    ['a chunked body of HTTP/1.0', chunked(`3\r\nabc\r\n0\r\n\r\n`).replace('HTTP/1.1', 'HTTP/1.0'), 400],
    ['a coding beside chunked', chunked('').replace(': chunked', ': gzip, chunked'), 501],
    ['two kinds of length', chunked('0\r\n\r\n').replace('Transfer', 'Content-Length: 3\r\nTransfer'), 400],
    ['two lengths', `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${sized}Content-Length: 1\r\n\r\n${call}`, 400],
    [
      'a body that ends early',
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${json}Content-Length: 999\r\n\r\n${call}`,
      400,
    ],
    ['a chunk that ends early', chunked(`${call.length.toString(16)}\r\n${call}`), 400],
    ['a chunk of no size', chunked(`zz\r\n${call}\r\n0\r\n\r\n`), 400],
    [
      'headers of 17 KiB',
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(17_000)}\r\n${sized}\r\n${call}`,
      431,
    ],
    ['another expectation', `POST ${path} HTTP/1.1\r\nHost: localhost\r\nExpect: more\r\n${sized}\r\n${call}`, 417],
    [
      'a body of 11 MiB',
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${json}Content-Length: ${11 * 2 ** 20}\r\n\r\n`,
      413,
    ],
    [
      'a page of another origin',
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n${sized}\r\n${call}`,
      403,
    ],
    ['a preflight', `OPTIONS ${path} HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.example\r\n\r\n`, 403],
    ['a method that it does not take', `PATCH ${path} HTTP/1.1\r\nHost: localhost\r\n${sized}\r\n${call}`, 405],
  ])('%s', async (_what, text, status) => {
    const capsule = await open();
    const response = await send(capsule, text);
    expect(response.status).toBe(status);
    expect(response.head.toLowerCase()).not.toContain('access-control');
    expect(capsule.fixture.session.board.accepted).toBe(0);
  });

  it('nothing that is hidden behind a body: one request is answered', async () => {
    const capsule = await open();
    const hidden = `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${sized}\r\n${call}`;
    const refused = `PUT ${path} HTTP/1.1\r\nHost: localhost\r\n${json}Content-Length: 3\r\n\r\nabc`;
    const text = await exchange({ port: capsule.port, bytes: [refused, hidden], halfClose: true });
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 405']);
    expect(capsule.fixture.session.board.accepted).toBe(0);
  });

  it('a chunked body as soon as it passes 10 MiB', async () => {
    const capsule = await open();
    const socket = connect(capsule.port, '127.0.0.1');
    socket.write(chunked(''));
    const answered = received(socket, 'HTTP/1.1 413');
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(2 ** 20), Buffer.from('\r\n')]);
    for (let sent = 0; sent < 11; sent += 1) socket.write(chunk);
    await answered;
    socket.destroy();
    expect(capsule.fixture.session.board.accepted).toBe(0);
  });
});
