import { afterEach, describe, expect, it } from 'vitest';

import { exchange } from '../../kit/test/http/raw-client.ts';
import { EgressFixture, RawServer } from './egress-fixture.ts';

let fixture: EgressFixture;
let server: RawServer;

afterEach(async () => {
  await fixture.close();
  await server.close();
});

/** As programs behind the proxy see it. */
const proxyPort = 3128;

async function open(hasService = true): Promise<void> {
  server = await RawServer.answering('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine');
  fixture = await EgressFixture.open({
    allow: [],
    ...(hasService ? { service: { proxyPort, port: server.port } } : {}),
  });
}

async function statusOf(...bytes: readonly string[]): Promise<string> {
  return (await exchange({ port: fixture.port, bytes: [bytes.join('\r\n')], halfClose: true })).split('\r\n')[0] ?? '';
}

describe('a service of the runtime behind the proxy', () => {
  it.each([
    ['straight', ['POST /mcp/a?b HTTP/1.1', 'Host: 127.0.0.1:3128', 'Content-Length: 2', '', '{}']],
    ['by the name localhost', ['POST /mcp/a?b HTTP/1.1', 'Host: LOCALHOST:3128', 'Content-Length: 2', '', '{}']],
    ['through the proxy', ['POST http://127.0.0.1:3128/mcp/a?b HTTP/1.1', 'Host: x', 'Content-Length: 2', '', '{}']],
  ])('answers %s, without a grant and without a decision', async (_, lines) => {
    await open();
    expect(await statusOf(...lines)).toBe('HTTP/1.1 200 OK');
    expect(server.received).toEqual([
      `POST /mcp/a?b HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    ]);
    expect(fixture.decisions).toEqual([]);
  });

  it('answers in a tunnel', async () => {
    await open();
    const answer = await exchange({
      port: fixture.port,
      bytes: ['CONNECT 127.0.0.1:3128 HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\nGET /mcp/a HTTP/1.1\r\nHost: x\r\n\r\n'],
      halfClose: true,
    });
    expect(answer).toContain('\r\n\r\nHTTP/1.1 200 OK');
    expect(server.received).toEqual(['GET /mcp/a HTTP/1.1\r\nHost: x\r\n\r\n']);
  });

  it.each([
    ['another Host header', ['GET /mcp/a HTTP/1.1', 'Host: evil.example:3128', '', ''], 'HTTP/1.1 400 Bad Request'],
    ['another port', ['GET http://127.0.0.1:3129/ HTTP/1.1', 'Host: x', '', ''], 'HTTP/1.1 403 Forbidden'],
    ['its own port of the host', ['CONNECT 127.0.0.1:PORT HTTP/1.1', 'Host: x', '', ''], 'HTTP/1.1 403 Forbidden'],
    ['a fragment', ['GET http://127.0.0.1:3128/#a HTTP/1.1', 'Host: x', '', ''], 'HTTP/1.1 400 Bad Request'],
  ])('stays out of reach for %s', async (_, lines, status) => {
    await open();
    expect(await statusOf(...lines.map((line) => line.replace('PORT', String(server.port))))).toBe(status);
    expect(server.received).toEqual([]);
  });

  it('serves no client that is served nothing', async () => {
    await open(false);
    expect(await statusOf('GET /mcp/a HTTP/1.1', 'Host: 127.0.0.1:3128', '', '')).toBe('HTTP/1.1 400 Bad Request');
    expect(await statusOf('GET http://127.0.0.1:3128/ HTTP/1.1', 'Host: x', '', '')).toBe('HTTP/1.1 403 Forbidden');
    expect(server.received).toEqual([]);
  });

  it('leaves a sentence when it is gone', async () => {
    await open();
    await server.close();
    expect(await statusOf('GET /mcp/a HTTP/1.1', 'Host: 127.0.0.1:3128', '', '')).toBe('HTTP/1.1 502 Bad Gateway');
  });
});
