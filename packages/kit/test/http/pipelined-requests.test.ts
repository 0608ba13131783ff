import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Secret } from '../../src/diagnostics/secret.ts';
import { busy } from '../../src/http/refusal.ts';
import { Kit } from './kit.ts';
import { exchange } from './raw-client.ts';

const channel = 'http.server.request.start';

/** Requests that Node has handed on, and how many of them after their connection was cut. */
const counted = { all: 0, pastCut: 0 };
function count(message: unknown): void {
  counted.all += 1;
  if ((message as { readonly socket: Socket }).socket.destroyed) counted.pastCut += 1;
}

let kit: Kit;

beforeEach(() => {
  kit = new Kit();
  Object.assign(counted, { all: 0, pastCut: 0 });
  subscribe(channel, count);
});

afterEach(async () => {
  unsubscribe(channel, count);
  await kit.close();
});

const head = (line: string, ...headers: readonly string[]): string =>
  [line, 'Host: localhost', ...headers, '', ''].join('\r\n');
const card = head('GET /card HTTP/1.1');
const many = 1500;

/** Each is one connection's first bytes, which Node reads and parses at once. */
const floods: readonly (readonly [name: string, bytes: string])[] = [
  ['that are answered', card.repeat(many)],
  ['behind one that takes its time', head('GET /slow HTTP/1.1') + card.repeat(many)],
  ['behind a stream', head('GET /endless HTTP/1.1') + card.repeat(many)],
  ['behind the answer over a body', head('POST /card HTTP/1.1', 'Content-Length: 1') + `x${card.repeat(many)}`],
  ['without a Host', 'GET /card HTTP/1.1\r\n\r\n'.repeat(many)],
  ['that expect what nobody does', head('GET /card HTTP/1.1', 'Expect: x').repeat(many)],
  ['of a page', head('GET /card HTTP/1.1', 'Origin: null').repeat(many)],
];

/** What is counted of a connection on which 100 requests may wait behind the first. */
const atMost102 = { all: expect.toSatisfy((all: number) => all > 0 && all <= 102), pastCut: 0 };

describe('1,500 requests in one piece', () => {
  it.each(floods)(
    '%s, at most 101 behind the first are handed on, and none once the connection is cut',
    async (_name, bytes) => {
      const port = await kit.open();
      await exchange({ port, bytes: [bytes] });
      expect(counted).toEqual(atMost102);
    },
  );

  const bodied = `${head('POST / HTTP/1.1', 'Transfer-Encoding: chunked')}1\r\na\r\n0\r\n\r\n`;

  it.each([
    ['no token', head('GET /any/a HTTP/1.1')],
    ['a wrong token', head('GET /any/a HTTP/1.1', 'Authorization: Bearer wrong')],
    ['no token, and a body', bodied],
  ])('get one answer with %s, and 101 are passed over', async (_name, request) => {
    const port = await kit.open({ token: new Secret('right') });
    const text = await exchange({ port, bytes: [request.repeat(many)] });
    // The connection is reset under a client that goes on asking, which may not have read the answer then.
    expect((text.match(/HTTP\/1\.1 /g) ?? []).length).toBeLessThanOrEqual(1);
    expect(counted).toEqual(atMost102);
    expect(kit.handled).toEqual([]);
  });

  it('get one answer at most with a token that is still looked up, and 101 wait', async () => {
    const port = await kit.open({ admits: async () => false });
    const text = await exchange({ port, bytes: [head('GET /any/a HTTP/1.1').repeat(many)] });
    expect((text.match(/HTTP\/1\.1 /g) ?? []).length).toBeLessThanOrEqual(1);
    expect(counted).toEqual(atMost102);
  });
});

describe('a request that is refused before it is known who asks', () => {
  it.each([
    ['without a token', head('GET /any/a HTTP/1.1'), 401],
    ['with a wrong token', head('GET /any/a HTTP/1.1', 'Authorization: Bearer wrong'), 401],
    ['of a page', head('GET /card HTTP/1.1', 'Origin: null'), 403],
    ['for another host', 'GET /card HTTP/1.1\r\nHost: example.com\r\n\r\n', 421],
    ['that is not sound', head('GET /card#a HTTP/1.1'), 400],
  ])('%s ends its connection with the answer', async (_name, refused, status) => {
    const port = await kit.open({ token: new Secret('right') });
    const good = head('DELETE /any/a HTTP/1.1', 'Authorization: Bearer right');
    const text = await exchange({ port, bytes: [good + refused + good] });
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 204', `HTTP/1.1 ${status}`]);
    expect(text.toLowerCase()).toContain('connection: close');
    expect(kit.handled).toEqual(['DELETE']);
  });
});

it('a request that comes at a bad time leaves its connection open for the next', async () => {
  const port = await kit.open({ admit: ({ url }) => (url === '/any/a' ? busy() : undefined) });
  const last = head('GET /card HTTP/1.1', 'Connection: close');
  const text = await exchange({ port, bytes: [head('GET /any/a HTTP/1.1') + last] });
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 503', 'HTTP/1.1 200']);
});

describe('a connection that is cut for what it asks behind an answer', () => {
  it('gives back what the answer held', async () => {
    const port = await kit.open();
    const held = exchange({ port, bytes: [head('GET /held HTTP/1.1') + card.repeat(many)] });
    const source = await kit.holding;
    await new Promise((resolve) => {
      if (source.destroyed) resolve(undefined);
      else source.once('close', resolve);
    });
    await held;
    expect(kit.bugs).toEqual([]);
  });

  it('stays open for a hundred requests more, which are answered', async () => {
    const port = await kit.open();
    const last = head('GET /card HTTP/1.1', 'Connection: close');
    expect((await exchange({ port, bytes: [card.repeat(100) + last] })).split('{"a":1}')).toHaveLength(102);
    expect(counted).toEqual({ all: 101, pastCut: 0 });
  });
});
