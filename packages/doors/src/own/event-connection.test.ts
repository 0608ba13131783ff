import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';

import type { TaskId } from '@svc/protocol/ids.ts';
import { FrameStore } from '@svc/session/stream/frame-store.ts';
import { WrittenFrame } from '@svc/session/stream/replay-buffer.ts';
import { EventConnection } from './event-connection.ts';

const server = createServer();
const clients: Socket[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  server.close();
  await once(server, 'close');
});

/** A connection whose reader reads nothing until it is resumed. */
async function stalled(): Promise<{
  readonly client: Socket;
  readonly socket: Socket;
  readonly connection: EventConnection;
  readonly gone: readonly EventConnection[];
}> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ConstructorParameters<typeof EventConnection>[0]];
  const gone: EventConnection[] = [];
  const others = { readers: 1, leave: (one: EventConnection) => void gone.push(one) };
  const connection = new EventConnection(response, { closesOnFinal: false }, others);
  clients.push(client);
  return { client, socket: response.socket as Socket, connection, gone };
}

const bytes = Buffer.alloc(32 * 1024 * 1024, 'x');

it('a connection that has ended is cut when its reader takes nothing for a minute', async () => {
  const { socket, connection, gone } = await stalled();
  connection.deliver({ frames: [], bytes });
  expect(socket.timeout ?? 0).toBe(0);
  connection.close();
  expect(gone).toEqual([connection]);
  expect(socket.writableLength).toBeGreaterThan(0);
  expect([socket.timeout, socket.destroyed]).toEqual([60_000, false]);
  socket.emit('timeout');
  expect(socket.destroyed).toBe(true);
});

/** A frame of 32 MiB in a file, which has it as long as the frame is held. */
function storedFrame(): WrittenFrame {
  const folder = mkdtempSync(join(tmpdir(), 'svc-frames-'));
  const store = new FrameStore(folder);
  onTestFinished(() => {
    store.close();
    rmSync(folder, { recursive: true });
  });
  const text = 'x'.repeat(32 * 1024 * 1024);
  return new WrittenFrame(1n, { event: 'text', taskId: 'tsk_1' as TaskId, text, final: false }, store);
}

it('a reader that takes nothing for a minute is cut while a file waits for it, and the file is given back', async () => {
  const { socket, connection, gone } = await stalled();
  const frame = storedFrame();
  connection.replay({ gap: null, frames: [frame] });
  frame.release();
  expect([socket.timeout, socket.destroyed, frame.read(0, 2)?.toString()]).toEqual([60_000, false, 'id']);
  socket.emit('timeout');
  await vi.waitFor(() => expect(gone).toEqual([connection]), { timeout: 20_000 });
  expect([socket.destroyed, frame.read(0, 2)]).toEqual([true, null]);
});

it('a reader that has caught up, or waits for nothing in a file, may take as long as it likes', async () => {
  const { client, socket, connection } = await stalled();
  connection.replay({ gap: null, frames: [storedFrame()] });
  expect(socket.timeout).toBe(60_000);
  client.resume();
  await vi.waitFor(() => expect(socket.timeout).toBe(0), { timeout: 20_000 });
  client.pause();
  connection.deliver({ frames: [], bytes });
  expect([socket.timeout, socket.listenerCount('timeout')]).toEqual([0, 1]);
  expect(socket.writableLength).toBeGreaterThan(0);
});
