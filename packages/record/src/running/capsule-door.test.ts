import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { closedPort } from '../../../../test/support/closed-port.ts';
import { doorOf, patientConnections } from './approach-capsule.ts';
import { faultOf } from './capsule-faults.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function answering(text: string, status = 200): Server {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => response.writeHead(status, { 'content-type': 'application/json' }).end(text));
  });
  servers.push(server);
  return server;
}

async function listen(server: Server, port = 0): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function unusedAddress(): Promise<string> {
  const server = createServer();
  const address = await listen(server);
  server.close();
  await once(server, 'close');
  return address;
}

async function callCapsule(asked: { readonly address: string; readonly timeoutMs?: number }): Promise<unknown> {
  const method = 'tasks/get';
  try {
    return await new CapsuleClient({ ...doorOf(asked), isGated: false }).call(method, {});
  } catch (error) {
    throw faultOf(error, { ...asked, method });
  }
}

function opening(
  address: string,
  wait: (ms: number) => Promise<unknown>,
): ReturnType<ReturnType<typeof patientConnections>> {
  const { signal } = new AbortController();
  const asked = { method: 'GET', headers: {}, signal, redirect: 'manual' } as const;
  return patientConnections(wait)(`http://${address}/`, asked);
}

describe('a call to a capsule', () => {
  it('repeats with growing waits while the port is not there yet', async () => {
    const address = await unusedAddress();
    const server = answering('{}');
    const waits: number[] = [];
    const response = await opening(address, async (ms) => {
      waits.push(ms);
      if (waits.length === 2) await listen(server, Number(address.split(':')[1]));
    });
    await response.body?.getReader().cancel();
    expect(response.status).toBe(200);
    expect(waits).toEqual([50, 100]);
  });

  it('gives up on an address where nothing listens', async () => {
    const address = `127.0.0.1:${await closedPort()}`;
    const waits: number[] = [];
    await expect(opening(address, async (ms) => waits.push(ms))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(waits).toEqual([50, 100, 200, 400]);
  });

  it.each([
    [
      'a refusal',
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Task not found"}}',
      200,
      'tasks/get was refused by the capsule at',
    ],
    ['no JSON', '<html>', 200, 'did not answer with JSON'],
    ['neither result nor error', '[]', 200, 'neither a result nor an error'],
    ['a missing token', '', 401, 'answered 401'],
  ])('fails with E-IO-003 on %s', async (_name, text, status, message) => {
    const address = await listen(answering(text, status));
    await expect(callCapsule({ address })).rejects.toMatchObject({
      code: 'E-IO-003',
      message: expect.stringContaining(message),
    });
  });

  it('fails with E-IO-003 when no answer comes in time', async () => {
    const server = createServer(() => {});
    servers.push(server);
    const address = await listen(server);
    await expect(callCapsule({ address, timeoutMs: 30 })).rejects.toMatchObject({
      code: 'E-IO-003',
      message: expect.stringContaining('no answer within 0.03 s'),
    });
    server.closeAllConnections();
  });

  it.each([
    ['stays away', undefined, 'cannot be reached'],
    ['is cut off by a reset', 'reset', 'the connection was closed before everything had gone over it'],
  ])('fails with E-IO-003 when the rest of the answer %s', async (_name, end, message) => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{', () => {
        if (end === 'reset') response.socket?.resetAndDestroy();
      });
    });
    servers.push(server);
    const address = await listen(server);
    await expect(callCapsule({ address, timeoutMs: end === undefined ? 50 : 5000 })).rejects.toMatchObject({
      code: 'E-IO-003',
      message: expect.stringContaining(message),
    });
    server.closeAllConnections();
  });

  it('takes a result with keys it does not know', async () => {
    const address = await listen(answering('{"jsonrpc":"2.0","id":1,"result":{"later":true},"extra":1}'));
    expect(await callCapsule({ address })).toEqual({ later: true });
  });
});
