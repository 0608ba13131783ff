import { once } from 'node:events';
import { createServer, Socket, type AddressInfo, type Server } from 'node:net';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { connectDirectly, dial } from './open-upstream.ts';
import type { Connect } from './egress-rules.ts';

let server: Server;
let port = 0;

beforeAll(async () => {
  server = createServer((socket) => socket.resume().on('error', () => socket.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});

afterAll(() => {
  server.close();
});

/** Connects to this machine; an address that is not of it keeps silent for ever. */
function recorder(): { readonly connect: Connect; readonly opened: Map<string, Socket> } {
  const opened = new Map<string, Socket>();
  return {
    opened,
    connect: (to) => {
      const socket = to.address.startsWith('127.') ? connectDirectly(to) : new Socket();
      opened.set(to.address, socket);
      return socket;
    },
  };
}

it('dial goes on to the next address when one keeps silent, and closes the one it does not use', async () => {
  const { connect, opened } = recorder();
  const { signal } = new AbortController();
  const dialed = await dial({ addresses: ['192.0.2.1', '127.0.0.1', '192.0.2.2'], port, connect, signal });
  expect(dialed).toEqual({ kind: 'connected', socket: opened.get('127.0.0.1') });
  expect([...opened.keys()]).toEqual(['192.0.2.1', '127.0.0.1']);
  expect(opened.get('192.0.2.1')?.destroyed).toBe(true);
  opened.get('127.0.0.1')?.destroy();
});

it('dial gives up all attempts when it is aborted', async () => {
  const { connect, opened } = recorder();
  const abort = new AbortController();
  const dialing = dial({ addresses: ['192.0.2.1', '192.0.2.2'], port, connect, signal: abort.signal });
  abort.abort();
  expect(await dialing).toEqual({ kind: 'failed', reason: 'ABORTED' });
  expect([...opened].map(([address, { destroyed }]) => [address, destroyed])).toEqual([['192.0.2.1', true]]);
  expect(await dial({ addresses: ['127.0.0.1'], port, connect, signal: abort.signal })).toEqual({
    kind: 'failed',
    reason: 'ABORTED',
  });
  expect(opened.has('127.0.0.1')).toBe(false);
});

it('connectDirectly opens connections that stay open for one direction when the other has ended', async () => {
  const ending = createServer({ allowHalfOpen: true }, (socket) => socket.end());
  ending.listen(0, '127.0.0.1');
  await once(ending, 'listening');
  const socket = connectDirectly({ address: '127.0.0.1', port: (ending.address() as AddressInfo).port });
  socket.resume();
  await once(socket, 'end');
  expect(socket.writable).toBe(true);
  const closed = once(socket, 'close');
  socket.end();
  await closed;
  ending.close();
});
