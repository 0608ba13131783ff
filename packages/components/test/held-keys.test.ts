import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { AnswerGuard, BoundHost } from '@svc/kit/keys/bound-host.ts';
import { boundHost, type BoundOrigin, type HeldKey } from '@svc/kit/keys/bound-origin.ts';
import { OutboundHttp } from '../src/outbound/outbound-http.ts';
import type { HttpErrorCode, RemoteAnswers } from '../src/outbound/remote-messages.ts';

const secret = 'canary-key-0123456789';
const placeholder = 'svc-key-0123456789abcdef0123456789abcdef';
let server: Server;
let authority: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function held(change: Partial<HeldKey> = {}, rules: BoundOrigin['rules'] = null): BoundHost {
  const key: HeldKey = {
    credential: 'service',
    header: 'x-api-key',
    scheme: 'raw',
    user: '',
    secret: new Secret(secret),
    placeholder,
    allowsForeign: false,
    ...change,
  };
  return boundHost({ origin: `http://${authority}`, rules, key });
}

interface Given {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  readonly error?: HttpErrorCode;
}

interface Asked {
  readonly path?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly refused?: string[];
}

/** All that a component is given of an answer, whatever becomes of it. */
async function ask(host: BoundHost, { path = '/', headers = [], refused = [] }: Asked = {}): Promise<Given> {
  const onRefused = (url: URL, rule = ''): void => void refused.push(`${url.host} ${rule}`);
  const http = new OutboundHttp({
    grants: {
      mayReach: (url) => url.host === authority,
      bound: (origin) => (origin === host.origin ? host : null),
      onRefused,
    },
  });
  try {
    const opened = (await http.answer({
      operation: 'open',
      head: {
        method: 'GET',
        scheme: 'http',
        authority,
        pathWithQuery: path,
        headers: headers.map(([name, value]) => [name, Buffer.from(value)]),
        connectTimeoutMs: null,
        firstByteTimeoutMs: null,
        betweenBytesTimeoutMs: null,
      },
      body: { bytes: new Uint8Array(0), finished: true },
    })) as RemoteAnswers['open'];
    if (opened.kind === 'refused') return { body: '', error: opened.error };
    const { exchange } = opened;
    await http.answer({ operation: 'wait', waits: [{ exchange, event: 'head' }], timeoutMs: null, takes: false });
    const head = (await http.answer({ operation: 'head', exchange })) as RemoteAnswers['head'];
    if (head.kind === 'failed') return { body: '', error: head.error };
    if (head.kind === 'pending') throw new Error('it was waited for');
    const fields = Object.fromEntries(
      head.headers.map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
    );
    let body = '';
    for (;;) {
      const read = (await http.answer({ operation: 'read', exchange, wait: true })) as RemoteAnswers['read'];
      if (read.kind === 'bytes') body += Buffer.from(read.bytes).toString('latin1');
      else
        return { status: head.status, headers: fields, body, ...(read.kind === 'failed' ? { error: read.error } : {}) };
    }
  } finally {
    http.close();
  }
}

const cut = 'and was cut';

describe('a component that asks a host with a credential', () => {
  it('has the key put into its request, whether it shows the placeholder or nothing', async () => {
    answer = ({ headers }, response) => response.end(headers['x-api-key'] === secret ? 'known' : 'unknown');
    expect(await ask(held())).toMatchObject({ status: 200, body: 'known' });
    expect(await ask(held(), { headers: [['X-Api-Key', placeholder]] })).toMatchObject({ status: 200, body: 'known' });
    expect(await ask(held({ placeholder: null }))).toMatchObject({ status: 200, body: 'unknown' });
  });

  it('reaches nothing with another key, and the refusal names the credential', async () => {
    answer = (_, response) => response.end('reached');
    const refused: string[] = [];
    const others = [
      { headers: [['x-api-key', 'of-somebody-else']] as const },
      { headers: [['authorization', 'Bearer of-somebody-else']] as const },
      { headers: [['cookie', 'id=of-somebody-else']] as const },
      { path: '/?access_token=of-somebody-else' },
    ];
    for (const other of others)
      expect(await ask(held(), { ...other, refused })).toEqual({ body: '', error: { tag: 'HTTP-request-denied' } });
    expect(refused).toEqual(others.map(() => `${authority} capabilities.credentials.service`));
  });

  it('reaches nothing beyond the rules, also where a URL would take the difference away', async () => {
    answer = (_, response) => response.end('reached');
    const host = held({}, [{ method: 'GET', path: '/repos/**' }]);
    const refused: string[] = [];
    expect(await ask(host, { path: '/repos/x' })).toMatchObject({ body: 'reached' });
    for (const path of ['/admin', '/admin/../repos/x', '/repos/../admin', '/repos/%2e%2e/admin', '/repos//x'])
      expect(await ask(host, { path, refused })).toMatchObject({ error: { tag: 'HTTP-request-denied' } });
    expect(new Set(refused)).toEqual(new Set([`${authority} capabilities.network.allow[].rules`]));
  });

  it.each<readonly [string, (response: ServerResponse) => void]>([
    ['a header', (response) => void response.setHeader('x-echo', secret).end('x')],
    [
      'the target of a redirect',
      (response) => void response.writeHead(302, { location: `http://e.test/?k=${secret}` }).end(),
    ],
    ['a body', (response) => void response.end(`{"key":"${secret}"}`)],
    ['a body in base64', (response) => void response.end(Buffer.from(`u:${secret}`).toString('base64'))],
    ['an error', (response) => void response.writeHead(401).end(`bad key ${secret}`)],
    [
      'the end that a server breaks off',
      (response) => {
        response.write(`key: ${secret.slice(0, -1)}`, () => response.destroy());
      },
    ],
    ['the end of a whole answer, but for its last character', (response) => void response.end(secret.slice(0, -1))],
  ])('gets nothing of a key in %s', async (where, says) => {
    answer = (_, response) => {
      says(response);
    };
    const given = await ask(held());
    expect(JSON.stringify(given.headers ?? {}) + given.body).not.toContain(secret.slice(0, 6));
    expect(given.error).toBeDefined();
    const words = given.error?.tag === 'internal-error' ? given.error.val : given.error?.tag;
    expect(words).toMatch(
      where.includes('breaks off') ? /HTTP-response-incomplete/ : new RegExp(`${authority}.*${cut}`),
    );
  });

  it('gets nothing of it in pieces, of trailers, of a compressed answer, and no cookie', async () => {
    answer = (_, response) => {
      const writeFrom = (text: string): void => {
        if (text === '') response.end();
        else response.write(text.slice(0, 1), () => writeFrom(text.slice(1)));
      };
      writeFrom(`key ${secret} end`);
    };
    expect(await ask(held())).toMatchObject({
      body: expect.stringMatching(/^(?:k|ke|key|key )?$/),
      error: { tag: 'internal-error' },
    });
    answer = (_, response) => {
      response.writeHead(200, { trailer: 'x-key', 'set-cookie': 'id=1' });
      response.addTrailers({ 'x-key': secret });
      response.end('fine');
    };
    const given = await ask(held());
    expect(given.body).toBe('fine');
    expect(JSON.stringify(given)).not.toMatch(/canary|set-cookie/);
    answer = ({ headers }, response) => {
      expect(headers['accept-encoding']).toBe('identity');
      response.setHeader('content-encoding', 'br').end('x');
    };
    const asked = [['accept-encoding', 'gzip, br']] as const;
    expect(await ask(held(), { headers: asked })).toMatchObject({
      body: '',
      error: { tag: 'HTTP-response-content-coding' },
    });
  });

  it('gets no byte behind a fault of the search, in 1,000 of them', async () => {
    answer = (_, response) => {
      response.setHeader('x-echo', 'fine');
      response.write('some of it ', () => response.end(`and the key ${secret}`));
    };
    const faults = ['headers', 'next', 'rest'] as const;
    let cutOnes = 0;
    for (let round = 0; round < 1_000; round += 1) {
      const given = await ask(faulty(held(), faults[round % 3] ?? 'next', Math.floor(round / 3) % 4));
      expect(JSON.stringify(given.headers ?? {}) + given.body).not.toContain('canary');
      if (given.error?.tag === 'internal-error') cutOnes += 1;
    }
    expect(cutOnes).toBe(1_000);
  }, 60_000);
});

/** The host with a search that fails in one of its parts: it throws, runs out of memory, or has lost its state. */
function faulty(host: BoundHost, part: 'headers' | 'next' | 'rest', how: number): BoundHost {
  const fail = (): never => {
    if (how === 0) throw new Error('the search failed');
    if (how === 1) throw new RangeError('Array buffer allocation failed');
    if (how === 2) return (undefined as unknown as { readonly lost: never }).lost;
    // oxlint-disable-next-line no-throw-literal -- what is thrown need be no Error
    throw null;
  };
  return {
    ...host,
    openGuard: () => {
      const guard = host.openGuard();
      return guard === null ? null : ({ ...guard, [part]: fail } satisfies AnswerGuard);
    },
  };
}
