import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { exchange, parseResponse } from '../../kit/test/http/raw-client.ts';
import { EgressFixture, getBytes, RawServer } from './egress-fixture.ts';

let fixture: EgressFixture;
let server: RawServer;

beforeAll(async () => {
  server = await RawServer.open((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine'));
    socket.on('end', () => socket.end());
  });
});

afterAll(() => server.close());

beforeEach(async () => {
  server.received.length = 0;
  server.sockets.length = 0;
  fixture = await EgressFixture.open({
    allow: ['http://a.example', 'https://a.example:8443'],
    names: { 'a.example': ['93.184.216.34'], 'evil.example': ['93.184.216.99'], localhost: ['127.0.0.1'] },
    routes: { '93.184.216.34:80': server.port, '93.184.216.34:8443': server.port, '93.184.216.99:80': server.port },
  });
});

afterEach(() => fixture.close());

function answerTo(bytes: string): Promise<string> {
  return exchange({ port: fixture.port, bytes: [bytes], halfClose: true });
}

const line = 'POST http://a.example/ HTTP/1.1';
const smuggled = 'GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n';

function post(headers: readonly string[], body: string): string {
  return [line, 'Host: a.example', ...headers, '', body].join('\r\n');
}

describe('a request that two readers could take for two things is refused, and nothing is connected to', () => {
  it.each([
    ['a length, then chunks', post(['Content-Length: 6', 'Transfer-Encoding: chunked'], '0\r\n\r\n'), 400],
    ['chunks, then a length', post(['Transfer-Encoding: chunked', 'Content-Length: 6'], '0\r\n\r\n'), 400],
    ['two lengths', post(['Content-Length: 0', 'Content-Length: 5'], 'hello'), 400],
    ['the same length twice', post(['Content-Length: 5', 'Content-Length: 5'], 'hello'), 400],
    ['a list of lengths', post(['Content-Length: 5, 5'], 'hello'), 400],
    ['a signed length', post(['Content-Length: +5'], 'hello'), 400],
    ['a negative length', post(['Content-Length: -5'], 'hello'), 400],
    ['a hexadecimal length', post(['Content-Length: 0x5'], 'hello'), 400],
    ['a length with a blank in it', post(['Content-Length: 5 5'], 'hello'), 400],
    ['an empty length', post(['Content-Length:'], ''), 400],
    ['a length of too many digits', post(['Content-Length: 18446744073709551621'], 'hello'), 400],
    ['a coding beside chunked', post(['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'), 501],
    ['two codings', post(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], '0\r\n\r\n'), 400],
    ['another coding', post(['Transfer-Encoding: xchunked'], '0\r\n\r\n'), 501],
    ['an empty coding', post(['Transfer-Encoding:'], '0\r\n\r\n'), 501],
    ['a coding after a vertical tab', post(['Transfer-Encoding: \x0bchunked'], '0\r\n\r\n'), 400],
    ['a blank before the colon', post(['Transfer-Encoding : chunked'], '0\r\n\r\n'), 400],
    ['a header without a colon', post(['Transfer-Encoding'], ''), 400],
    ['a header without a name', post([': chunked'], ''), 400],
    ['a folded header', post(['X: a', ' Transfer-Encoding: chunked'], ''), 400],
    ['a header folded with a tab', post(['X: a', '\tb'], ''), 400],
    ['a bare carriage return', post(['X: a\rTransfer-Encoding: chunked'], ''), 400],
    ['a bare line feed', post(['X: a\nTransfer-Encoding: chunked'], ''), 400],
    ['lines that end with line feeds', 'GET http://a.example/ HTTP/1.1\nHost: a.example\n\n', 400],
    ['a NUL', post(['X: a\0b'], ''), 400],
    ['two hosts', `${line}\r\nHost: a.example\r\nHost: evil.example\r\n\r\n`, 400],
    ['two hosts of one spelling', `${line}\r\nHost: a.example\r\nhost: a.example\r\n\r\n`, 400],
    ['no host', `${line}\r\n\r\n`, 400],
    [
      'chunks in the older protocol',
      'POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['two blanks', 'GET  http://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a tab', 'GET\thttp://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a blank in the target', 'GET http://a.example/ HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a blank at the end', 'GET http://a.example/ HTTP/1.1 \r\nHost: a\r\n\r\n', 400],
    ['a blank at the beginning', ' GET http://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['an empty line at the beginning', '\r\nGET http://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a byte above ASCII in the target', 'GET http://a.example/\xfc HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a method in lower case', 'get http://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['no version', 'GET http://a.example/\r\nHost: a\r\n\r\n', 400],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
    ['HTTP/1.2', 'GET http://a.example/ HTTP/1.2\r\nHost: a\r\n\r\n', 505],
    ['another expectation', post(['Expect: 100-continue, x', 'Content-Length: 0'], ''), 417],
    ['a tunnel with a length', 'CONNECT a.example:8443 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello', 400],
    [
      'a tunnel with chunks',
      'CONNECT a.example:8443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a head that is too long', post([`X: ${'x'.repeat(40_000)}`], ''), 431],
    ['a head of very many blanks', post([`X:${' '.repeat(31_000)}\x01`], ''), 400],
    ['a request that ends early', 'GET http://a.example/ HTTP/1.1\r\nHost: a', 400],
    ['no HTTP at all', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\n', 400],
  ])('%s', async (_name, bytes, status) => {
    const answer = await answerTo(bytes + smuggled);
    expect(parseResponse(answer).status).toBe(status);
    // One answer: whatever follows is not looked at.
    expect(answer.match(/HTTP\/1\.1 \d/g)?.length).toBe(1);
    expect([fixture.connects, fixture.asked]).toEqual([[], []]);
  });
});

describe('a body whose chunks are unsound', () => {
  it.each([
    ['a size that is no number', 'zz\r\nhello\r\n0\r\n\r\n'],
    ['a size with a prefix', '0x5\r\nhello\r\n0\r\n\r\n'],
    ['a signed size', '-1\r\nhello\r\n0\r\n\r\n'],
    ['a blank before the size', ' 5\r\nhello\r\n0\r\n\r\n'],
    ['a blank after the size', '5 \r\nhello\r\n0\r\n\r\n'],
    ['an empty size', '\r\nhello\r\n0\r\n\r\n'],
    ['a size that wraps', '10000000000000005\r\nhello\r\n0\r\n\r\n'],
    ['an extension', '5;x=y\r\nhello\r\n0\r\n\r\n'],
    ['an extension with a line feed', '5;\nhello\r\n0\r\n\r\n'],
    ['a size that ends with a line feed', '5\nhello\r\n0\r\n\r\n'],
    ['a chunk longer than its size', '4\r\nhello\r\n0\r\n\r\n'],
    ['a chunk shorter than its size', '6\r\nhello\r\n0\r\n\r\n'],
    ['a chunk that ends with a line feed', '5\r\nhello\n0\r\n\r\n'],
    ['a trailer that is none', '5\r\nhello\r\n0\r\nGET / HTTP/1.1\r\n\r\n'],
    ['a size without end', '1'.repeat(20_000)],
    ['trailers without end', `0\r\n${'X: y\r\n'.repeat(20_000)}`],
    ['no end', '5\r\nhel'],
  ])('ends early: %s', async (_name, body) => {
    const silent = await RawServer.open((socket) => {
      socket.on('end', () => socket.end());
    });
    const proxy = await EgressFixture.open({
      allow: ['http://a.example'],
      names: { 'a.example': ['93.184.216.34'] },
      routes: { '93.184.216.34:80': silent.port },
    });
    const bytes = [post(['Transfer-Encoding: chunked'], body + (body.endsWith('hel') ? '' : smuggled))];
    const answer = await exchange({ port: proxy.port, bytes, halfClose: true });
    expect(parseResponse(answer).status).toBe(400);
    expect(answer.match(/HTTP\/1\.1 \d/g)?.length).toBe(1);
    expect(proxy.connects).toEqual(['93.184.216.34:80']);
    expect(silent.received.join('')).not.toContain('0\r\n\r\n');
    expect(silent.received.join('')).not.toContain('evil');
    await proxy.close();
    await silent.close();
  });
});

it('the proxy takes what follows a body for the next request, and decides on it', async () => {
  const answer = await answerTo(post(['Content-Length: 5'], `hello${smuggled}`));
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n.*fineHTTP\/1\.1 403 Forbidden\r\n/s);
  expect(fixture.connects).toEqual(['93.184.216.34:80']);
});

it('the proxy carries a request that hides in a body as a body', async () => {
  await answerTo(post([`Content-Length: ${smuggled.length}`], smuggled) + getBytes('http://a.example/2'));
  expect(server.received.map((text) => text.split('\r\n')[0])).toEqual(['POST / HTTP/1.1', 'GET /2 HTTP/1.1']);
  expect(server.received[0]?.endsWith(`\r\n\r\n${smuggled}`)).toBe(true);
});

describe('any bytes', () => {
  const fragment = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom('GET ', 'POST ', 'CONNECT ', 'HEAD ', 'http://', 'https://', ' HTTP/1.1\r\n'),
    },
    {
      weight: 6,
      arbitrary: fc.constantFrom('a.example', 'evil.example', 'localhost', '127.0.0.1', '[::1]', ':80', ':8443', '/'),
    },
    {
      weight: 4,
      arbitrary: fc.constantFrom('Host: a\r\n', '\r\n', '\r\n\r\n', '\n', '\r', '@', '#', '?', '\\', '%2e', '.', ' '),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        'Content-Length: 5\r\n',
        'Transfer-Encoding: chunked\r\n',
        '5\r\nhello\r\n',
        '0\r\n\r\n',
      ),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom(getBytes('http://a.example/'), smuggled, 'CONNECT a.example:8443 HTTP/1.0\r\n\r\n'),
    },
    { weight: 2, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')) },
  );
  const bytes = fc.array(fragment, { maxLength: 14 }).map((fragments) => fragments.join(''));

  it('end in an answer or nothing, and never in a connection or a question to a place that is not granted', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, async (text) => {
        const answer = await answerTo(text);
        expect(answer).toMatch(/^$|^HTTP\/1\.1 \d{3} /);
        expect(fixture.connects.filter((place) => !/^93\.184\.216\.34:(80|8443)$/.test(place))).toEqual([]);
        expect(fixture.asked.filter((host) => host !== 'a.example')).toEqual([]);
        const allowed = fixture.decisions.filter(({ verdict }) => verdict === 'allowed');
        expect(fixture.connects.length).toBe(allowed.length);
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 1_000) },
    );
    expect(parseResponse(await answerTo(getBytes('http://a.example/'))).body).toBe('fine');
    expect(fixture.connects.length).toBeGreaterThan(10);
  });
});
