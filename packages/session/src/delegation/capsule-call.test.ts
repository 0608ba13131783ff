import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';

import { expect, it, onTestFinished } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { DelegationId } from '@svc/protocol/ids.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { callCapsule, type CapsuleAnswer, deliverTask } from './capsule-call.ts';

/** A call to a server that answers the first bytes of each connection with these, and leaves it open; and what it was sent. */
async function called(bytes: string, timeoutMs = 20_000): Promise<{ answer: CapsuleAnswer; sent: string }> {
  const sockets = new Set<Socket>();
  let sent = '';
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => (sent += chunk.toString()));
    socket.once('data', () => socket.write(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const endpoint = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const headers = { 'x-svc-task-origin': 'peer' };
  const call = { method: 'tasks/get', params: { id: 't' }, headers, timeoutMs };
  return { answer: await callCapsule({ endpoint, token: new Secret('token') }, call), sent };
}

const json = (body: string, status = '200 OK'): string =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

it.each([
  [json('{"jsonrpc":"2.0","id":1,"result":{"a":1}}'), { kind: 'result', result: { a: 1 } }],
  [json('{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"none"}}'), { kind: 'error', message: 'none' }],
  [json('{"result":{"a":1}}'), { kind: 'other', status: 200 }],
  [json('no'), { kind: 'other', status: 200 }],
  [json('{"error":"unauthorized"}', '401 Unauthorized'), { kind: 'other', status: 401 }],
  [
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n',
    { kind: 'none', reason: 'the connection was closed before everything had gone over it' },
  ],
])('a call that is answered %j comes to %j', async (bytes, expected) => {
  expect((await called(bytes)).answer).toEqual(expected);
});

it('a call says who asks, and what', async () => {
  const { sent } = await called(json('{}'));
  expect(sent).toContain('authorization: Bearer token\r\n');
  expect(sent).toContain('x-svc-task-origin: peer\r\n');
  expect(sent).toContain('\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t"}}');
});

it('a call to silence, and one to nobody, come to nothing', async () => {
  expect((await called('', 50)).answer).toEqual({ kind: 'none', reason: 'no answer within 0.05 s' });
  const call = { method: 'tasks/get', params: {}, timeoutMs: 20_000 };
  expect(await callCapsule({ endpoint: new URL('http://127.0.0.1:9/'), token: null }, call)).toEqual({
    kind: 'none',
    reason: 'nothing listens there',
  });
});

it('a call that fails of no network is not said to be one of the network', async () => {
  const call = { method: 'tasks/get', params: {}, headers: { 'x-odd': 'a\nb' }, timeoutMs: 20_000 };
  expect(await callCapsule({ endpoint: new URL('http://127.0.0.1:9/'), token: null }, call)).toEqual({
    kind: 'none',
    reason: 'the header x-odd for http://127.0.0.1:9 was to hold what no header can, such as a line break',
  });
});

it('a task whose answer was lost is sent again with the key of its delegation, and so is no other task', async () => {
  const tasks = new Map<string, string>();
  const server = createHttpServer((request, response) => {
    const key = String(request.headers['idempotency-key']);
    request.resume();
    const isFirst = tasks.size === 0;
    const id = tasks.get(key) ?? `tsk_${tasks.size + 1}`;
    tasks.set(key, id);
    if (isFirst) response.destroy();
    else response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { id, status: { state: 'working' } } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const delivered = await deliverTask({
    door: { endpoint: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`), token: null },
    delegationId: 'del_00000000000000000000000000000001' as DelegationId,
    task: 'Count the files.',
    trust: 'untrusted',
    traceparent: null,
    withinMs: 20_000,
    isOver: () => false,
    clock: systemClock,
    signal: new AbortController().signal,
  });
  expect(delivered).toEqual({ kind: 'delivered', taskId: 'tsk_1' });
  expect([...tasks]).toEqual([['del_00000000000000000000000000000001', 'tsk_1']]);
});

it('a task is sent to nobody once its capsule has ended: another program may listen at its port', async () => {
  let asked = 0;
  const stranger = createHttpServer((_request, response) => {
    asked += 1;
    response.end();
  });
  stranger.listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  onTestFinished(() => void stranger.close());
  const delivered = await deliverTask({
    door: { endpoint: new URL(`http://127.0.0.1:${(stranger.address() as AddressInfo).port}/`), token: null },
    delegationId: 'del_00000000000000000000000000000001' as DelegationId,
    task: 'Count the files.',
    trust: 'untrusted',
    traceparent: null,
    withinMs: 20_000,
    isOver: () => true,
    clock: systemClock,
    signal: new AbortController().signal,
  });
  expect({ delivered, asked }).toEqual({
    delivered: { kind: 'undelivered', reason: 'it ended before it had its task' },
    asked: 0,
  });
});
