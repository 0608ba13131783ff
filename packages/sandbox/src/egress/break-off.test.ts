import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { breakOff } from './egress-proxy.ts';

let near: Socket;
let far: Socket;
let told: string[];
let close: () => void;

beforeEach(async () => {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  far = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  [near] = await accepted;
  near.on('error', () => near.destroy());
  told = [];
  far.on('end', () => told.push('end'));
  far.on('error', ({ code }: NodeJS.ErrnoException) => told.push(code ?? ''));
  far.resume();
  close = () => server.close();
});

afterEach(() => {
  near.destroy();
  far.destroy();
  close();
});

function closing(): Promise<void> {
  return new Promise((resolve) => far.once('close', () => resolve()));
}

it('breakOff reaches the other side as a break, and not as an end', async () => {
  const closed = closing();
  near.write('hello');
  await once(far, 'data');
  breakOff(near);
  await closed;
  expect([told, near.destroyed]).toEqual([['ECONNRESET'], true]);
  // No end was sent before the reset: a peer that reads at the wrong moment would take it for one.
  expect(near.writableEnded).toBe(false);
});

it('breakOff comes after an end that was sent before', async () => {
  const ended = once(far, 'end');
  const finished = once(near, 'finish');
  near.end();
  await Promise.all([ended, finished]);
  breakOff(near);
  expect(near.destroyed).toBe(true);
  await once(near, 'close');
});

it('breakOff closes a connection whose end is on its way, and one that is closed already', async () => {
  near.end('bye');
  breakOff(near);
  breakOff(near);
  await once(near, 'close');
  expect(near.destroyed).toBe(true);
});
