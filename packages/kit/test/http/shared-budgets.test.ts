import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { ByteBudget } from '../../src/http/byte-budget.ts';
import { busy } from '../../src/http/refusal.ts';
import { jsonReply, type Reply } from '../../src/http/reply.ts';
import { HttpServer } from '../../src/http/server.ts';
import { Secret } from '../../src/diagnostics/secret.ts';
import { ask } from './raw-client.ts';

const mebibyte = 1024 * 1024;
const token = 'a-token-of-the-listener';
const bytesReply = {
  kind: 'bytes',
  status: 200,
  contentType: 'text/plain',
  bytes: Buffer.alloc(60 * mebibyte, 'x'),
} as const;
let server: HttpServer;
let port = 0;
let taken: number[];
/** Settles when the handler of `/slow` may answer. */
let released: Promise<void>;
let release = (): void => {};
const clients: Client[] = [];

/** A client that sends what the test gives it, and reads when the test lets it. */
class Client {
  readonly socket: Socket;

  constructor() {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => {});
    this.socket.pause();
    clients.push(this);
  }

  /** All that is answered until the connection closes. */
  async read(): Promise<string> {
    const pieces: Buffer[] = [];
    this.socket.on('data', (piece: Buffer) => void pieces.push(piece));
    this.socket.resume();
    if (!this.socket.closed) await new Promise((resolve) => void this.socket.once('close', resolve));
    return Buffer.concat(pieces).toString('latin1');
  }

  async send(bytes: string | Buffer): Promise<void> {
    await new Promise((resolve) => void this.socket.write(bytes, resolve));
  }
}

beforeEach(async () => {
  taken = [];
  released = new Promise((resolve) => {
    release = resolve;
  });
  server = new HttpServer({
    token: new Secret(token),
    onBug: (error) => {
      throw error;
    },
    holderOf: ({ from }) => from ?? null,
    routes: [
      {
        method: 'POST',
        path: '/',
        open: true,
        body: 'whole',
        maxBytes: 10 * mebibyte,
        handle: ({ body }) => {
          taken.push(body.length);
          return jsonReply({ bytes: body.length });
        },
      },
      {
        method: 'POST',
        path: '/slow',
        open: true,
        body: 'whole',
        maxBytes: 10 * mebibyte,
        handle: async ({ body }) => {
          taken.push(body.length);
          await released;
          return jsonReply({ bytes: body.length });
        },
      },
      { method: 'GET', path: '/large', open: true, body: 'unread', handle: () => jsonReply('x'.repeat(60 * mebibyte)) },
      {
        method: 'GET',
        path: '/bytes',
        open: true,
        body: 'unread',
        handle: () => ({ ...bytesReply, bytes: Buffer.alloc(60 * mebibyte, 'x') }),
      },
      { method: 'GET', path: '/shared', open: true, body: 'unread', handle: () => ({ ...bytesReply, isShared: true }) },
      { method: 'GET', path: '/huge', open: true, body: 'unread', handle: () => jsonReply('x'.repeat(200 * mebibyte)) },
      {
        method: 'GET',
        path: '/full',
        open: true,
        body: 'unread',
        handle: () => ({
          kind: 'stream',
          start: () => {
            throw busy();
          },
        }),
      },
      { method: 'GET', path: '/small', open: true, body: 'unread', handle: () => jsonReply('x') },
    ],
  });
  const bound = await server.bind({ address: '127.0.0.1', port: 0 });
  if (bound.kind !== 'bound') throw new Error('the server did not bind');
  port = bound.port;
});

afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await server.close(0);
});

const head = (length: number, more = ''): string =>
  `POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ${length}\r\n${more}\r\n`;

/** Begins a body of 10 MiB and sends all of it but the last byte. */
async function nearlySent(more = ''): Promise<Client> {
  const client = new Client();
  await client.send(head(10 * mebibyte, more));
  await client.send(Buffer.alloc(10 * mebibyte - 1, 'x'));
  return client;
}

async function whole(more = ''): Promise<string> {
  const client = await nearlySent(more);
  await client.send('x');
  return await client.read();
}

async function small(): Promise<number> {
  return (await ask(port, 'POST / HTTP/1.1', { body: 'x'.repeat(60 * 1024) })).status;
}

describe('what many clients send at once', () => {
  it('stays within 64 MiB: more gets 503, small bodies pass, and nothing that was taken is lost', async () => {
    const begun = await Promise.all(Array.from({ length: 7 }, () => nearlySent()));
    const refused = await Promise.race(
      begun.map(async (client) => {
        await once(client.socket, 'readable');
        return client;
      }),
    );
    const answer = await refused.read();
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toMatch(/\r\nretry-after: 1\r\n/);
    expect(answer).toContain('"error":"busy"');
    expect(await small()).toBe(200);
    for (const client of begun.filter((one) => one !== refused)) {
      await client.send('x');
      expect(await client.read()).toMatch(/^HTTP\/1\.1 200 /);
    }
    expect(taken).toEqual([60 * 1024, ...Array.from({ length: 6 }, () => 10 * mebibyte)]);
    const again = await nearlySent();
    await again.send('x');
    expect(await again.read()).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('leaves room to others, however much one sends that has a name', async () => {
    const begun = await Promise.all(Array.from({ length: 6 }, () => nearlySent('From: ann\r\n')));
    await Promise.race(begun.map(async ({ socket }) => await once(socket, 'readable')));
    expect(await whole('From: bob\r\n')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await whole()).toMatch(/^HTTP\/1\.1 200 /);
    for (const client of begun) client.socket.destroy();
    await expect.poll(() => whole('From: ann\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('goes back to the budget when its clients leave in the middle', async () => {
    for (let round = 0; round < 3; round += 1) {
      const begun = await Promise.all(Array.from({ length: 6 }, () => nearlySent()));
      for (const { socket } of begun) {
        socket.destroy();
        await once(socket, 'close');
      }
    }
    // The server may hear of the last of them after their clients.
    const last = async (): Promise<string> => {
      const client = await nearlySent();
      await client.send('x');
      return await client.read();
    };
    await expect.poll(last).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('what is done with many bodies at once', () => {
  it('holds up to 64 MiB of them, also when their clients have left', async () => {
    for (let round = 1; round <= 6; round += 1) {
      const client = new Client();
      await client.send(head(10 * mebibyte).replace('POST /', 'POST /slow'));
      await client.send(Buffer.alloc(10 * mebibyte, 'x'));
      await expect.poll(() => taken).toHaveLength(round);
      client.socket.destroy();
      await once(client.socket, 'close');
    }
    await delay(50);
    expect(await whole()).toMatch(/^HTTP\/1\.1 503 /);
    release();
    await expect.poll(whole).toMatch(/^HTTP\/1\.1 200 /);
  });
});

/** The port of a server that lets go of a client that takes nothing for 200 ms. */
async function impatient(handle: () => Reply, answers?: ByteBudget): Promise<number> {
  const server = new HttpServer({
    token: null,
    stalledMs: 200,
    ...(answers === undefined ? {} : { answers }),
    onBug: (error) => {
      throw error;
    },
    routes: [{ method: 'GET', path: '/', body: 'unread', handle }],
  });
  onTestFinished(() => server.close(0));
  const bound = await server.bind({ address: '127.0.0.1', port: 0 });
  if (bound.kind !== 'bound') throw new Error('the server did not bind');
  return bound.port;
}

describe('what many clients do not read', () => {
  it('counts as bytes too, but not where all are given the same', async () => {
    const asked = async (path: string): Promise<void> => {
      const client = new Client();
      await client.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      await once(client.socket, 'readable');
    };
    for (let round = 0; round < 3; round += 1) await asked('/shared');
    for (let round = 0; round < 2; round += 1) await asked('/bytes');
    expect((await ask(port, 'GET /bytes HTTP/1.1')).status).toBe(503);
    expect((await ask(port, 'GET /shared HTTP/1.1')).status).toBe(200);
  });

  it.each([
    ['in whole', '', ''],
    ['whose answer was begun before its body came', 'Content-Length: 1\r\n', 'x'],
  ])('goes once they take nothing of it, for a request %s', async (_, header, body) => {
    port = await impatient(() => jsonReply('x'.repeat(10 * mebibyte)), new ByteBudget(15 * mebibyte));
    const client = new Client();
    await client.send(`GET / HTTP/1.1\r\nHost: localhost\r\n${header}\r\n`);
    await once(client.socket, 'readable');
    if (body !== '') await client.send(body);
    expect((await ask(port, 'GET / HTTP/1.1')).status).toBe(503);
    await expect.poll(async () => (await ask(port, 'GET / HTTP/1.1')).status, { timeout: 10_000 }).toBe(200);
  });

  it.each<[string, { readonly contentType: string; readonly empty?: string }, RegExp]>([
    [
      'is not let go of where its source is long in coming',
      { contentType: 'application/json', empty: ' ' },
      /^\[ +1\]$/,
    ],
    [
      'is not let go of where no event comes for long',
      { contentType: 'text/event-stream; charset=utf-8' },
      /^\[(?::\n\n)+1\]$/,
    ],
    [
      'is let go of where nothing tells a source that is long in coming from a client that takes nothing',
      { contentType: 'application/json' },
      /^\[$/,
    ],
  ])('%s', async (_, told, expected) => {
    async function* pieces(): AsyncGenerator<string> {
      yield '[';
      await delay(700);
      yield '1]';
    }
    const late = await impatient(() => ({
      kind: 'readable',
      status: 200,
      length: null,
      source: Readable.from(pieces()),
      ...told,
    }));
    const answer = await fetch(`http://127.0.0.1:${late}/`);
    let text = '';
    const read = async (): Promise<void> => {
      for await (const piece of answer.body ?? []) text += Buffer.from(piece).toString();
    };
    await read().catch(() => {});
    expect(text).toMatch(expected);
  });

  it('stays within 128 MiB: more gets 503, and what is read makes room', { timeout: 240_000 }, async () => {
    const unread = [new Client(), new Client()];
    for (const client of unread) {
      await client.send('GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      await once(client.socket, 'readable');
    }
    const large = await ask(port, 'GET /large HTTP/1.1');
    expect([large.status, large.headers['retry-after']]).toEqual([503, '1']);
    expect((await ask(port, 'GET /small HTTP/1.1')).status).toBe(200);
    for (const client of unread) expect((await client.read()).length).toBeGreaterThan(60 * mebibyte);
    expect((await ask(port, 'GET /large HTTP/1.1')).status).toBe(200);
  });

  it('makes a stream fail as it begins, and the connection serves on', async () => {
    const client = new Client();
    const second = 'GET /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    await client.send(`GET /full HTTP/1.1\r\nHost: localhost\r\n\r\n${second}`);
    const answers = await client.read();
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 503', 'HTTP/1.1 200']);
  });

  it('does not keep an answer from anybody that is larger than the limit, where there is no other', async () => {
    const client = new Client();
    await client.send('GET /huge HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    expect((await client.read()).length).toBeGreaterThan(200 * mebibyte);
  });
});
