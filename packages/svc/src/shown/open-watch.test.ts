import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createSocketServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { closedPort } from '../../../../test/support/closed-port.ts';
import type { ApproachedCapsule } from '@svc/record/running/approach-capsule.ts';
import { openWatch } from './follow-stream.ts';

const servers: (Server & { closeAllConnections?: () => void })[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections?.();
  }
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const unguarded = (address: string): ApproachedCapsule => ({ address, token: undefined, isTokenKept: false });

async function answering(answer: (response: ServerResponse) => void): Promise<string> {
  return await listen(
    createServer((request, response) => {
      request.resume();
      request.once('end', () => answer(response));
    }),
  );
}

async function speaking(speak: (socket: Socket) => void): Promise<string> {
  return await listen(createSocketServer((socket) => socket.once('data', () => speak(socket)).on('error', () => {})));
}

describe('an answer that is an event stream', () => {
  it.each(['text/event-stream', 'Text/Event-Stream', 'text/event-stream; charset=utf-8'])('says %s', async (type) => {
    const address = await answering((response) =>
      response.writeHead(200, { 'content-type': type }).end('data: {}\n\n'),
    );
    const { frames } = await openWatch(unguarded(address));
    expect((await frames.next()).value).toEqual([{ id: undefined, event: 'message', data: '{}' }]);
  });
});

describe('openWatch', () => {
  const json = { 'content-type': 'application/json' };
  const orNone = 'is it a capsule? svc ps lists the running ones';

  it.each([
    [
      'a missing token',
      401,
      json,
      '{}',
      'answered 401 and no event stream',
      'set SVC_LISTENER_TOKEN to the token of that capsule',
    ],
    ['an unknown path', 404, {}, '', 'answered 404 and no event stream', orNone],
    [
      'a name it does not go by',
      421,
      json,
      '{}',
      'answered 421 and no event stream',
      'name it by localhost or 127.0.0.1',
    ],
    ['a page', 200, { 'content-type': 'text/html' }, '<html>', 'answered 200 and no event stream', orNone],
    ['no type', 200, {}, 'x', 'answered 200 and no event stream', orNone],
    [
      'another type with that start',
      200,
      { 'content-type': 'text/event-streams' },
      'x',
      'answered 200 and no event stream',
      orNone,
    ],
    [
      'an event stream that is refused',
      503,
      { 'content-type': 'text/event-stream' },
      '',
      'answered 503 and no event stream',
      orNone,
    ],
    ['JSON that is none', 200, json, '{"a', 'answered 200 and no event stream', orNone],
  ])('rejects %s with E-IO-003 and a hint', async (_name, status, headers, body, message, hint) => {
    const address = await answering((response) => response.writeHead(status, headers).end(body));
    await expect(openWatch(unguarded(address))).rejects.toMatchObject({
      code: 'E-IO-003',
      message: `the capsule at ${address} ${message}`,
      hint,
    });
  });

  it.each([
    ['{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}', 'Method not found'],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', 'neither a result nor an error'],
    ['{"error":"odd"}', 'odd'],
  ])('rejects the JSON %s with E-IO-003 and its words', async (body, reason) => {
    const address = await answering((response) => response.writeHead(200, json).end(body));
    await expect(openWatch(unguarded(address))).rejects.toMatchObject({
      code: 'E-IO-003',
      message: `stream/watch was refused by the capsule at ${address}: ${reason}`,
      hint: 'it may be another version of svc, or no capsule at all',
    });
  });

  it('rejects an endless answer', async () => {
    const address = await answering((response) => {
      response.writeHead(200, json);
      response.on('drain', () => response.write('x'.repeat(65_536)));
      response.write('x'.repeat(1_000_000));
    });
    await expect(openWatch(unguarded(address))).rejects.toMatchObject({ code: 'E-IO-003' });
  });
});

describe('a capsule that cannot be reached', () => {
  it('gives E-IO-003 with a hint because nothing listens there', async () => {
    const address = `127.0.0.1:${await closedPort()}`;
    await expect(openWatch(unguarded(address))).rejects.toMatchObject({
      code: 'E-IO-003',
      message: `the capsule at ${address} cannot be reached: nothing listens there`,
      hint: 'svc ps lists the running capsules',
    });
  });

  it.each(['no-such-host.invalid:80', '127.0.0.1:99999'])('gives E-IO-003 with a hint as %s', async (address) => {
    await expect(openWatch(unguarded(address))).rejects.toMatchObject({
      code: 'E-IO-003',
      message: expect.stringContaining(`the capsule at ${address} cannot be reached: `),
      hint: 'svc ps lists the running capsules',
    });
  });

  it('gives E-IO-003 with a hint because something else listens there', async () => {
    const address = await speaking((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    await expect(openWatch(unguarded(address))).rejects.toMatchObject({
      code: 'E-IO-003',
      message: `the capsule at ${address} cannot be reached: what it answers is not HTTP (HPE_INVALID_CONSTANT)`,
    });
  });

  it.each([
    ['closed', (socket: Socket) => socket.end()],
    ['reset', (socket: Socket) => socket.resetAndDestroy()],
  ])(
    'counts as a lost one that saw no event because the connection is %s before the answer [D1-WATCH-09]',
    async (_name, cut) => {
      const address = await speaking(cut);
      await expect(openWatch(unguarded(address))).rejects.toMatchObject({
        code: 'E-IO-003',
        message: `the connection to ${address} was lost; no event was seen`,
        hint: 'run the command again to reattach',
      });
    },
  );
});
