import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { BoundHost, HeaderLine, RequestSigner } from '@svc/kit/keys/bound-host.ts';
import { boundHost } from '@svc/kit/keys/bound-origin.ts';
import { signatureOf } from '@svc/kit/keys/sigv4.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { exchange, parseResponse } from '../../kit/test/http/raw-client.ts';
import { boundTo, EgressFixture, portOf } from './egress-fixture.ts';

const origin = 'http://service.test';
const placeholder = 'svc-key-0123456789abcdef0123456789abcdef';
const secret = new Secret('canary-secret-0123456789');
const nowMs = Date.parse('2026-11-30T12:00:00Z');

interface Arrived {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  readonly body: string;
}

let fixture: EgressFixture;
let server: Server;
let arrived: Arrived[] = [];
let host: BoundHost;

/** The host of a service that wants signatures. */
function signing(service: string): BoundHost {
  return boundHost({
    origin,
    rules: null,
    key: {
      credential: 'service',
      header: 'authorization',
      scheme: 'sigv4',
      user: 'AKIDEXAMPLE',
      secret,
      placeholder,
      allowsForeign: false,
      signing: { region: 'eu-west-1', service, sessionToken: null, now: () => nowMs },
    },
  });
}

beforeEach(async () => {
  arrived = [];
  server = createServer((asked, response) => {
    const pieces: Buffer[] = [];
    asked.on('data', (piece: Buffer) => pieces.push(piece));
    asked.on('end', () => {
      const { method = '', url: target = '', rawHeaders: raw } = asked;
      const headers = raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []));
      arrived.push({ method, target, headers, body: Buffer.concat(pieces).toString('latin1') });
      response.end('reached');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = boundTo(portOf(server), (asked) => (asked === origin ? host : null));
  fixture = await EgressFixture.open({ allow: [origin], bound });
});

afterEach(async () => {
  await fixture.close();
  server.closeAllConnections();
  server.close();
});

interface Asked {
  readonly headers?: readonly string[];
  readonly bodyBytes?: string;
  readonly service?: string;
}

const targetFor = (service: string): string => (service === 's3' ? '/b//c?x' : '/a%2Fb?x');

async function ask({ headers = [], bodyBytes = '', service = 'lambda' }: Asked): Promise<string> {
  host = signing(service);
  const own = `Authorization: AWS4-HMAC-SHA256 Credential=${placeholder}/20261130/eu-west-1/${service}/aws4_request, SignedHeaders=host, Signature=0`;
  const lines = [`POST ${origin}${targetFor(service)} HTTP/1.1`, 'Host: service.test', own, ...headers, '', ''];
  return await exchange({ port: fixture.port, bytes: [lines.join('\r\n'), bodyBytes], halfClose: true });
}

/** Whether the signature is of exactly what arrived. */
function isSigned({ method, target, headers, body }: Arrived, service: string): boolean {
  const added = new Set(['x-amz-date', 'authorization']);
  const sent = { method, target, headers: headers.filter(([name]) => !added.has(name.toLowerCase())) };
  const [, declared] = headers.find(([name]) => name.toLowerCase() === 'x-amz-content-sha256') ?? [];
  const key = { accessKeyId: 'AKIDEXAMPLE', secret, sessionToken: null, region: 'eu-west-1', service };
  const expected = signatureOf(key, sent, { payload: declared ?? sha256Hex(Buffer.from(body, 'latin1')), nowMs });
  return headers.filter(([name]) => name === 'authorization').join() === expected.at(-1)?.join();
}

describe('a program that asks a host which wants signatures', () => {
  it.each<readonly [string, Asked, string]>([
    ['no body', {}, ''],
    ['a body of a length', { headers: ['Content-Length: 5'], bodyBytes: 'hello' }, 'hello'],
    [
      'a body in chunks, for whose head it waits',
      {
        headers: ['Transfer-Encoding: chunked', 'Expect: 100-continue', 'Connection: x-amz-acl', 'X-Amz-Acl: public'],
        bodyBytes: '3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n',
      },
      'hello',
    ],
    [
      'a longer body of which it says the hash',
      {
        headers: [`Content-Length: 1048577`, `X-Amz-Content-Sha256: ${sha256Hex('x'.repeat(1_048_577))}`],
        bodyBytes: 'x'.repeat(1_048_577),
      },
      'x'.repeat(1_048_577),
    ],
    [
      'a body of S3 in unsigned pieces',
      {
        service: 's3',
        headers: [
          'Transfer-Encoding: chunked',
          'x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER',
          'x-amz-trailer: x-amz-checksum-crc32',
          'content-encoding: aws-chunked',
        ],
        bodyBytes: '12\r\n5\r\nhello\r\n0\r\n\r\nsum\r\n0\r\n\r\n',
      },
      '5\r\nhello\r\n0\r\n\r\nsum',
    ],
  ])('has exactly what arrives signed: %s', async (_, asked, body) => {
    const { service = 'lambda' } = asked;
    const given = await ask(asked);
    expect(given).toMatch(/reached$/);
    expect(arrived.map((each) => [each.target, each.body])).toEqual([[targetFor(service), body]]);
    expect(arrived.every((each) => isSigned(each, service))).toBe(true);
    expect(JSON.stringify(arrived)).not.toMatch(/svc-key|public/);
  });

  it.each<readonly [string, number, string, Asked]>([
    ['says it', 413, 'more than 1048576 bytes', { headers: ['Content-Length: 1048577'], bodyBytes: 'x' }],
    [
      'turns out so',
      413,
      'more than 1048576 bytes',
      { headers: ['Transfer-Encoding: chunked'], bodyBytes: `100001\r\n${'x'.repeat(0x100001)}\r\n0\r\n\r\n` },
    ],
    ['breaks off', 400, 'could not be read whole', { headers: ['Content-Length: 5'], bodyBytes: 'x' }],
  ])('reaches nothing with a body that cannot be held whole: it %s', async (_, status, words, asked) => {
    const given = parseResponse(await ask(asked));
    expect([given.status, given.body]).toEqual([status, expect.stringContaining(words)]);
    expect(arrived).toEqual([]);
    expect(fixture.decisions).toMatchObject([
      { verdict: 'refused', rule: 'capabilities.network.allow[].credential', method: 'POST' },
    ]);
  });

  it('gets 503 once 32 MiB of bodies are held, until some of them go', async () => {
    host = signing('lambda');
    const own = `Authorization: AWS4-HMAC-SHA256 Credential=${placeholder}/20261130/eu-west-1/lambda/aws4_request, SignedHeaders=host, Signature=0`;
    const head = [`POST ${origin}/x HTTP/1.1`, 'Host: service.test', own, 'Content-Length: 1048576', '', ''];
    const waiting = Array.from({ length: 32 }, () => {
      const socket = connect({ port: fixture.port, host: '127.0.0.1' });
      socket.on('error', () => {});
      socket.write(head.join('\r\n'));
      socket.write('x'.repeat(1_048_575));
      return socket;
    });
    const read = (): number =>
      fixture.clients.reduce((sum, { bytesRead, readableLength }) => sum + bytesRead - readableLength, 0);
    await expect.poll(read, { timeout: 20_000 }).toBe(32 * (head.join('\r\n').length + 1_048_575));
    const asked = { headers: ['Content-Length: 1048576'], bodyBytes: 'x'.repeat(1_048_576) };
    expect(parseResponse(await ask(asked)).status).toBe(503);
    expect(fixture.decisions.at(-1)).toMatchObject({
      verdict: 'refused',
      rule: 'capabilities.network.allow[].credential',
    });
    for (const socket of waiting) socket.destroy();
    await expect.poll(async () => await ask(asked), { timeout: 20_000 }).toMatch(/reached$/);
  });

  it.each<readonly [string, number, RegExp, RequestSigner['sign']]>([
    ['throws', 403, /could not be held/, () => Promise.reject(new Error('canary'))],
    [
      'has no key to sign with',
      502,
      /^A request to http:\/\/service\.test has no key\.$/m,
      () => Promise.resolve({ fault: 'has no key' }),
    ],
  ])('reaches nothing where the signing %s', async (_, status, words, sign) => {
    const sound = signing('lambda');
    host = {
      ...sound,
      decide: (asked) => {
        const decision = sound.decide(asked);
        if (decision.kind === 'refused' || decision.signer === null) throw new Error('it is signed');
        return { ...decision, signer: { ...decision.signer, sign } };
      },
    };
    const bytes = [`GET ${origin}/x HTTP/1.1\r\nHost: service.test\r\n\r\n`];
    const given = parseResponse(await exchange({ port: fixture.port, bytes, halfClose: true }));
    expect([given.status, given.body]).toEqual([status, expect.stringMatching(words)]);
    expect(arrived).toEqual([]);
  });
});
