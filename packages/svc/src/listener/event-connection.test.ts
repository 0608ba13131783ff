import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';

import { EventConnection } from './event-connection.ts';

const server = createServer();

afterEach(async () => {
  server.close();
  await once(server, 'close');
});

it('a connection that has ended is cut when its reader takes nothing for a minute', async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ConstructorParameters<typeof EventConnection>[0]];
  const socket = response.socket as Socket;
  const gone: EventConnection[] = [];
  const connection = new EventConnection(response, {
    closesOnFinal: false,
    readers: () => 1,
    onGone: (one) => gone.push(one),
  });
  const bytes = Buffer.alloc(32 * 1024 * 1024, 'x');
  connection.deliver({ frames: [], bytes });
  expect(socket.timeout ?? 0).toBe(0);
  connection.close();
  expect(gone).toEqual([connection]);
  expect(socket.writableLength).toBeGreaterThan(0);
  expect([socket.timeout, socket.destroyed]).toEqual([60_000, false]);
  socket.emit('timeout');
  expect(socket.destroyed).toBe(true);
  client.destroy();
});
