import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { HttpServer } from '@svc/kit/http/server.ts';
import { ExportedWorkdir, get, mebibyte } from './exported-workdir.ts';

describe('memory that answers share', () => {
  let plane: ExportedWorkdir;

  beforeEach(() => {
    plane = new ExportedWorkdir();
  });

  afterEach(() => plane.close());

  /** Leaves in the middle of an answer. */
  async function leave(port: number, name: string): Promise<void> {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /resources/files/${name} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
  }

  it(
    'never shows the bytes of one file in another, whichever client leaves in the middle',
    { timeout: 120_000 },
    async () => {
      const port = await plane.open();
      // Files of a few sizes in the same class of memory, and spooled ones.
      const files = ['a', 'b', 'c', 'd', 'e', 'f', 'S', 'T'].map((letter, index) => {
        const size = letter < 'a' ? 8 * mebibyte + 1 + index : mebibyte - index * 1000;
        writeFileSync(join(plane.out, letter), letter.repeat(size));
        return { letter, size };
      });
      const wrong: string[] = [];
      async function reader(first: number): Promise<void> {
        for (let turn = 0; turn < 12; turn += 1) {
          const { letter = '', size = 0 } = files[(first + turn * 5) % files.length] ?? {};
          if ((first + turn) % 4 === 0) {
            await leave(port, letter);
            continue;
          }
          const { body } = await get(port, `/resources/files/${letter}`);
          if (body !== letter.repeat(size)) wrong.push(letter);
        }
      }
      await Promise.all(Array.from({ length: 10 }, (_, first) => reader(first)));
      expect(wrong).toEqual([]);
    },
  );
});

describe('an answer of bytes', () => {
  const servers: HttpServer[] = [];
  const sockets: Socket[] = [];

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await Promise.all(servers.splice(0).map((server) => server.close(0)));
  });

  /** A server that sends so many bytes, and notes the end that it sees. */
  async function serving(length: number): Promise<{ port: number; told: boolean[] }> {
    const told: boolean[] = [];
    const server = new HttpServer({
      routes: [
        {
          method: 'GET',
          path: '/bytes',
          body: 'unread',
          handle: () => ({
            kind: 'bytes',
            status: 200,
            contentType: 'text/plain',
            bytes: Buffer.alloc(length, 'b'),
            onDone: (isTaken) => told.push(isTaken),
          }),
        },
      ],
      token: null,
      onBug: () => undefined,
    });
    servers.push(server);
    const bound = await server.bind({ address: '127.0.0.1', port: 0 });
    if (bound.kind !== 'bound') throw new Error(bound.kind);
    return { port: bound.port, told };
  }

  function asking(port: number, requests: number, headers = ''): Socket {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.write(`GET /bytes HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`.repeat(requests));
    return socket;
  }

  async function toldOf(told: boolean[], answers: number): Promise<boolean[]> {
    while (told.length < answers) await new Promise(setImmediate);
    return told;
  }

  it('reports once that the system has all of them', async () => {
    const { port, told } = await serving(100_000);
    const socket = asking(port, 3);
    socket.resume();
    expect(await toldOf(told, 3)).toEqual([true, true, true]);
    socket.destroy();
    const other = asking(port, 1, 'Connection: close\r\n');
    other.resume();
    await once(other, 'close');
    expect(await toldOf(told, 4)).toEqual([true, true, true, true]);
  });

  it('reports once that they were not taken when the client leaves, and skips those that wait behind', async () => {
    const { port, told } = await serving(40 * mebibyte);
    const socket = asking(port, 3);
    await once(socket, 'readable');
    expect(told).toEqual([]);
    socket.destroy();
    expect(await toldOf(told, 1)).toEqual([false]);
    const reader = asking(port, 1, 'Connection: close\r\n');
    expect(((await reader.toArray()) as Buffer[]).reduce((sum, { length }) => sum + length, 0)).toBeGreaterThan(
      40 * mebibyte,
    );
    expect(await toldOf(told, 2)).toEqual([false, true]);
  });

  it('reports a body that was not read', async () => {
    const { port, told } = await serving(100_000);
    const socket = asking(port, 1, 'Content-Length: 3\r\n');
    socket.write('abc');
    socket.resume();
    await once(socket, 'close');
    expect(await toldOf(told, 1)).toEqual([true]);
  });
});
