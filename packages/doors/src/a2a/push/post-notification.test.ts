import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createRawServer, type AddressInfo, type Socket } from 'node:net';

import { expect, it, onTestFinished } from 'vitest';

import type { HostResolver } from '@svc/kit/net/resolver.ts';
import { FakeClock } from '../../../../../test/support/fake-clock.ts';
import { postNotification, type Posted } from './post-notification.ts';
import { PushRule } from './push-rule.ts';

async function listening(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function raw(answer: (socket: Socket) => void): Promise<number> {
  const server = createRawServer((socket) => {
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    answer(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Answers each question with the next of these; the last one stays. */
function resolving(...answers: readonly (readonly string[])[]): HostResolver & { asked: number } {
  const resolver = {
    asked: 0,
    resolve: async () => {
      const addresses = answers[Math.min(resolver.asked, answers.length - 1)] ?? [];
      resolver.asked += 1;
      return { kind: 'addresses', addresses } as const;
    },
  };
  return resolver;
}

interface Attempt {
  readonly port: number;
  readonly resolver?: HostResolver;
  readonly clock?: FakeClock;
  /** Whether the host may be on this machine. */
  readonly isPrivate?: boolean;
}

async function post({ port, resolver, clock, isPrivate = true }: Attempt): Promise<Posted> {
  const destination = { scheme: 'http', host: 'hooks.example', port } as const;
  return await postNotification(
    {
      url: new URL(`http://hooks.example:${port}/hook?a=b`),
      headers: { 'x-mine': '1' },
      body: Buffer.from('{"a":1}'),
      signal: new AbortController().signal,
    },
    {
      rule: new PushRule([{ destination, isPrivate }]),
      resolver: resolver ?? resolving(['127.0.0.1']),
      clock: clock ?? new FakeClock(),
    },
  );
}

it('a notification is one request, whose status says what became of it', async () => {
  const seen: unknown[] = [];
  const statuses = [200, 204, 410, 500, 404, 302];
  const port = await listening((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { host, 'x-mine': mine } = request.headers;
      seen.push([request.method, request.url, host, mine, Buffer.concat(chunks).toString()]);
      response.writeHead(statuses[seen.length - 1] ?? 500).end();
    });
  });
  const posted: Posted[] = [];
  for (const _ of statuses) posted.push(await post({ port }));
  expect(posted).toEqual([
    { kind: 'taken' },
    { kind: 'taken' },
    { kind: 'gone' },
    { kind: 'failed', why: 'it answered 500' },
    { kind: 'failed', why: 'it answered 404' },
    { kind: 'failed', why: 'it answered 302' },
  ]);
  expect(new Set(seen.map((each) => JSON.stringify(each)))).toEqual(
    new Set([JSON.stringify(['POST', '/hook?a=b', `hooks.example:${port}`, '1', '{"a":1}'])]),
  );
});

it('a redirect leads nowhere', async () => {
  let heard = 0;
  const other = await listening((_request, response) => {
    heard += 1;
    response.end();
  });
  for (const status of [301, 302, 303, 307, 308]) {
    const port = await listening((_request, response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${other}/` }).end();
    });
    expect(await post({ port })).toEqual({ kind: 'failed', why: `it answered ${status}` });
  }
  expect(heard).toBe(0);
});

it('a name that leads to this machine is not connected to, unless the manifest says so', async () => {
  let connections = 0;
  const port = await raw(() => {
    connections += 1;
  });
  const refused = { kind: 'refused', why: 'is at a loopback address, which this agent does not push to' };
  expect(await post({ port, isPrivate: false })).toEqual(refused);
  const mixed = resolving(['93.184.216.34', '127.0.0.1']);
  expect(await post({ port, isPrivate: false, resolver: mixed })).toEqual(refused);
  expect(connections).toBe(0);
});

it('a name that leads elsewhere a moment later is connected to where it was checked', async () => {
  const port = await listening((_request, response) => void response.end());
  const resolver = resolving(['127.0.0.1'], ['127.0.0.2']);
  expect(await post({ port, resolver })).toEqual({ kind: 'taken' });
  expect(resolver.asked).toBe(1);
});

it('a name that has no address fails', async () => {
  expect(await post({ port: 1, resolver: resolving([]) })).toEqual({ kind: 'failed', why: 'no host has that name' });
});

it('a receiver that says nothing is given up after ten seconds', async () => {
  const clock = new FakeClock();
  let heard = (): void => {};
  const hears = new Promise<void>((resolve) => (heard = resolve));
  const port = await raw((socket) => socket.once('data', heard));
  const posting = post({ port, clock });
  await hears;
  clock.advance(10_000);
  expect(await posting).toEqual({ kind: 'failed', why: 'no answer within 10 s' });
  const looking = post({ port, clock, resolver: { resolve: () => new Promise<never>(() => {}) } });
  clock.advance(10_000);
  expect(await looking).toMatchObject({ kind: 'failed' });
});

it('a receiver that answers for ever is left once its status is there', async () => {
  let left: Promise<unknown> = Promise.resolve();
  const port = await listening((request: IncomingMessage, response) => {
    left = once(response, 'close');
    const more = (): void => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', more);
    };
    response.writeHead(200);
    request.resume();
    more();
  });
  expect(await post({ port })).toEqual({ kind: 'taken' });
  await left;
});

it('a receiver whose head has no end, and one that speaks no HTTP, fail', async () => {
  const endless = await raw((socket) => {
    socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`));
  });
  expect(await post({ port: endless })).toMatchObject({ kind: 'failed' });
  const other = await raw((socket) => socket.once('data', () => socket.end('SSH-2.0-nothing\r\n')));
  expect(await post({ port: other })).toMatchObject({ kind: 'failed' });
  const closed = await raw((socket) => socket.once('data', () => socket.destroy()));
  expect(await post({ port: closed })).toMatchObject({ kind: 'failed' });
});
