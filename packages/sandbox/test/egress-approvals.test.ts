import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

import type { HeldRequest, RequestJudge, RequestRulings, RequestVerdict } from '@svc/kit/keys/bound-host.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { boundHost } from '@svc/kit/keys/bound-origin.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { exchange, parseResponse } from '../../kit/test/http/raw-client.ts';
import { boundTo, EgressFixture, portOf } from './egress-fixture.ts';

const origin = 'http://service.test';
const rulings: RequestRulings = ({ target }) => {
  if (target.startsWith('/asked')) return { verdict: 'ask', rule: 'approvals.rules[0]' };
  return target.startsWith('/denied') ? { verdict: 'deny', rule: 'approvals.rules[1]' } : null;
};
const host = boundHost({ origin, rules: null, key: null, rulings });

let fixture: EgressFixture;
let server: Server;
let arrived: string[] = [];
let asked: HeldRequest[] = [];
let answer: (request: HeldRequest, held: AbortSignal) => Promise<RequestVerdict>;
let asks = true;

const judge: RequestJudge = {
  asks: () => asks,
  judge: async (request, held) => {
    asked.push(request);
    return await answer(request, held);
  },
};

async function openProxy(requests: RequestJudge | null, askMs = 60_000, of = host): Promise<void> {
  const bound = boundTo(portOf(server), (wanted) => (wanted === origin ? of : null));
  const judged = requests === null ? {} : { requests };
  fixture = await EgressFixture.open({ allow: [origin], bound, limits: { askMs }, ...judged });
}

beforeEach(async () => {
  [arrived, asked, asks] = [[], [], true];
  answer = async () => ({ kind: 'proceed' });
  server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      arrived.push(`${request.method} ${request.url} ${Buffer.concat(pieces).toString('latin1')}`);
      response.end('reached');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  await fixture.close();
  server.closeAllConnections();
  server.close();
});

async function send(target: string, body = '', headers: readonly string[] = [`Content-Length: ${body.length}`]) {
  const head = [`POST ${origin}${target} HTTP/1.1`, 'Host: service.test', ...headers, '', ''].join('\r\n');
  return parseResponse(await exchange({ port: fixture.port, bytes: [head, body], halfClose: true }));
}

const last = () => fixture.decisions.at(-1);

describe('a request of a program that a person is asked about', () => {
  it('goes out once it is allowed, with the very body whose hash was shown', async () => {
    await openProxy(judge);
    const unsent = ['Connection: x-unsent', 'X-Unsent: 1'];
    const chunked = ['Transfer-Encoding: chunked', 'Expect: 100-continue', 'X-Amz-Target: Store.Put', ...unsent];
    expect((await send('/asked?x=1', '3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n', chunked)).body).toContain('reached');
    const body = { bytes: 5, sha256: sha256Hex('hello'), text: 'hello' };
    expect(asked).toEqual([
      { origin, method: 'POST', target: '/asked?x=1', headers: ['x-amz-target: Store.Put'], body },
    ]);
    expect(arrived).toEqual(['POST /asked?x=1 hello']);
    expect(last()).toMatchObject({ verdict: 'allowed', method: 'POST', path: '/asked', status: 200 });
  });

  it('has with it whose key it shows, unless that stands for the key of its host', async () => {
    const key = {
      credential: 'service',
      header: 'x-weird',
      scheme: 'raw',
      user: '',
      secret: new Secret('real-key-of-the-host'),
      placeholder: 'svc-key-0123456789',
      allowsForeign: true,
    } as const;
    await openProxy(judge, 60_000, boundHost({ origin, rules: null, key, rulings }));
    await send('/asked', '', ['X-Weird: svc-key-0123456789', 'Content-Length: 0']);
    await send('/asked', '', ['X-Weird: svc-key-0123456789', 'Cookie: of=somebody', 'Content-Length: 0']);
    expect(asked.map(({ headers, keys }) => [headers, typeof keys])).toEqual([
      [[], 'undefined'],
      [[], 'string'],
    ]);
    expect(arrived).toHaveLength(2);
  });

  it('waits for the answer, and nothing of it arrives before', async () => {
    await openProxy(judge);
    let settle: (verdict: RequestVerdict) => void = () => {};
    const put = new Promise<void>((resolve) => {
      answer = async () => {
        resolve();
        return await new Promise<RequestVerdict>((settled) => (settle = settled));
      };
    });
    const response = send('/asked', 'hello');
    await put;
    expect([arrived, fixture.connects]).toEqual([[], []]);
    settle({ kind: 'proceed' });
    expect((await response).status).toBe(200);
    expect(arrived).toHaveLength(1);
  });

  it('gets 403 with the reason if it is denied, and does not arrive', async () => {
    await openProxy(judge);
    answer = async () => ({ kind: 'refused', reason: 'was not sent: a person denied this request' });
    const { status, body } = await send('/asked', 'hello');
    const reason = `A request POST to ${origin} was not sent: a person denied this request (approvals.rules[0]).`;
    expect([status, body.trim()]).toEqual([403, reason]);
    expect(arrived).toEqual([]);
    expect(last()).toMatchObject({ verdict: 'refused', reason, rule: 'approvals.rules[0]', path: '/asked' });
  });

  it('gets 403 when it was held for as long as it may be', async () => {
    await openProxy(judge, 30);
    answer = async (_request, held) =>
      await new Promise((resolve) =>
        held.addEventListener('abort', () => resolve({ kind: 'refused', reason: 'waits (apr_1)' })),
      );
    const { status, body } = await send('/asked', 'hello');
    expect([status, body]).toEqual([403, expect.stringContaining('waits (apr_1)')]);
    expect(arrived).toEqual([]);
  });

  it('asks nobody and fails by name if its body has more than 1 MiB', async () => {
    await openProxy(judge);
    const { status, body } = await send('/asked', 'a', ['Content-Length: 1048577']);
    const reason = `A request to ${origin} is refused: its body has more than 1048576 bytes, and a person is asked (approvals.rules[0]).`;
    expect([status, body.trim()]).toEqual([413, reason]);
    expect([asked, arrived]).toEqual([[], []]);
    expect(last()).toMatchObject({ verdict: 'refused', rule: 'approvals.rules[0]' });
  });

  it('gets 403 where no call of a task makes it', async () => {
    await openProxy(null);
    const { status, body } = await send('/asked', 'hello');
    const reason = `A request POST to ${origin} is refused: a person has to approve it (approvals.rules[0]), and no call of a task makes it.`;
    expect([status, body.trim()]).toEqual([403, reason]);
    expect(arrived).toEqual([]);
  });

  it('goes out unasked in a call that has not to ask, with a body of any length', async () => {
    asks = false;
    await openProxy(judge);
    expect((await send('/asked', 'a'.repeat(1_100_000))).status).toBe(200);
    expect([asked, arrived.length]).toEqual([[], 1]);
  });
});

describe('a request of a program that no person is asked about', () => {
  it('gets 403 if a rule denies it', async () => {
    await openProxy(judge);
    const { status, body } = await send('/denied', 'hello');
    expect([status, body.trim()]).toEqual([
      403,
      `A request POST to ${origin} is refused: the operator denies it (approvals.rules[1]).`,
    ]);
    expect([asked, arrived]).toEqual([[], []]);
  });

  it('goes out, with a body of any length, if no rule is for it', async () => {
    await openProxy(null);
    expect((await send('/other', 'a'.repeat(1_100_000))).status).toBe(200);
    expect([asked, arrived.length]).toEqual([[], 1]);
  });

  it('gets 403 if its path has two readings', async () => {
    await openProxy(judge);
    expect((await send('/other/../denied')).status).toBe(403);
    expect(last()).toMatchObject({ verdict: 'refused', rule: 'approvals.rules' });
    expect(arrived).toEqual([]);
  });
});
