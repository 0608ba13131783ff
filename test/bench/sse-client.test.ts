import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { openWatchers, type Counted } from '../../bench/support/sse-client.mjs';

const hasCompiler = spawnSync('cc', ['--version']).status === 0;
const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';

/** What the client counts of a stream that comes in these pieces, awaiting `frames`. */
async function countedOf(pieces: readonly string[], frames: number): Promise<Counted> {
  const sockets: Socket[] = [];
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.push(socket);
    socket.write(head);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const client = await openWatchers({ port, request: 'watch', watchers: 1, frames });
  onTestFinished(() => client.end());
  for (const socket of sockets) for (const piece of pieces) await new Promise((sent) => socket.write(piece, sent));
  return client.counted;
}

/** The mark of the frame with this number, all published at the start of the clock. */
const mark = (number: number): string => `~${100_000_000 + number}100000000000000`;

describe.skipIf(!hasCompiler)('the client of the stream rows (skipped without a C compiler)', () => {
  it('counts the frames of a whole stream, however it is cut', async () => {
    const cut = mark(1);
    const counted = await countedOf([`data: ${mark(0)} a\n\n`, cut.slice(0, 7), cut.slice(7), mark(2)], 3);
    expect(counted).toMatchObject({ frames: 3, complete: 1, disordered: 0 });
  });

  it('sees that a frame was lost', async () => {
    expect(await countedOf([mark(0), mark(1), mark(3)], 3)).toMatchObject({ frames: 3, complete: 1, disordered: 1 });
  });

  it('sees that a frame came twice', async () => {
    expect(await countedOf([mark(0), mark(0), mark(1)], 3)).toMatchObject({ disordered: 2 });
  });

  it('counts nothing that was published before the first frame', async () => {
    const counted = await countedOf([mark(998), mark(999), mark(0), mark(1)], 2);
    expect(counted).toMatchObject({ frames: 2, complete: 1, disordered: 0 });
  });
});
