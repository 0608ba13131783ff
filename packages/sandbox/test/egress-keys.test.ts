import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { AnswerGuard, BoundHost } from '@svc/kit/keys/bound-host.ts';
import { boundHost } from '@svc/kit/keys/bound-origin.ts';
import { afterEach, describe, expect, it } from 'vitest';

import { exchange } from '../../kit/test/http/raw-client.ts';
import { boundTo, EgressFixture, portOf } from './egress-fixture.ts';

const key = 'canary-key-0123456789';
const origin = 'http://api.test';
const placeholder = 'ghp_0123456789abcdef0123456789abcdef';
/** Where a fault can strike: before the request, with the search, or in one of its parts. */
const parts = ['decide', 'openGuard', 'headers', 'next', 'rest'] as const;

let fixture: EgressFixture;
let server: Server;
const shown: (string | undefined)[] = [];

afterEach(async () => {
  await fixture.close();
  server.closeAllConnections();
  server.close();
  shown.length = 0;
});

const keyed = boundHost({
  origin,
  rules: null,
  key: {
    credential: 'service',
    header: 'authorization',
    scheme: 'bearer',
    user: '',
    secret: new Secret(key),
    placeholder,
    allowsForeign: false,
  },
});

/** The host with a part that throws, runs out of memory, or has lost its state. */
function faulty(part: (typeof parts)[number], how: number): BoundHost {
  const fail = (): never => {
    if (how === 0) throw new Error('the search failed');
    if (how === 1) throw new RangeError('Array buffer allocation failed');
    if (how === 2) return (undefined as unknown as { readonly lost: never }).lost;
    // oxlint-disable-next-line no-throw-literal -- what is thrown need be no Error
    throw null;
  };
  if (part === 'decide' || part === 'openGuard') return { ...keyed, [part]: fail };
  return {
    ...keyed,
    openGuard: () => {
      const guard = keyed.openGuard();
      return guard === null ? null : ({ ...guard, [part]: fail } satisfies AnswerGuard);
    },
  };
}

async function open(hosts: () => BoundHost): Promise<void> {
  server = createServer(({ headers }, response) => {
    shown.push(headers.authorization);
    response.setHeader('x-echo', 'fine');
    response.write('some of it ', () => response.end(`and the key ${key}`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = boundTo(portOf(server), (asked) => (asked === origin ? hosts() : null));
  fixture = await EgressFixture.open({ allow: [origin], bound });
}

const asked = [`GET ${origin}/ HTTP/1.1`, 'Host: api.test', `Authorization: Bearer ${placeholder}`, '', ''];
const answer = (): Promise<string> => exchange({ port: fixture.port, bytes: [asked.join('\r\n')], halfClose: true });

describe('a program that asks a host with a credential', () => {
  it('gets no byte of the key, and no answer that ends, where the service tells it', async () => {
    await open(() => keyed);
    const given = await answer();
    expect(shown).toEqual([`Bearer ${key}`]);
    expect(given).not.toContain('canary');
    expect(given).not.toMatch(/\r\n0\r\n\r\n$/);
  });

  it('gets nothing behind a fault of the key or of the search, in 1,000 of them, and the next request is served', async () => {
    let host = keyed;
    await open(() => host);
    let failed = 0;
    for (let round = 0; round < 1_000; round += 1) {
      host = faulty(parts[round % parts.length] ?? 'next', Math.floor(round / parts.length) % 4);
      const given = await answer();
      expect(given).not.toContain('canary');
      expect(given).not.toMatch(/\r\n0\r\n\r\n$/);
      if (fixture.decisions[round]?.verdict === 'refused') failed += 1;
    }
    expect(failed).toBe(1_000);
    // A decision that fails lets no request out, and neither does a search that cannot begin.
    expect(shown).toHaveLength(600);
    expect(new Set(shown)).toEqual(new Set([`Bearer ${key}`]));
    expect(JSON.stringify(fixture.decisions)).not.toContain('canary');
  }, 60_000);
});
