import { open, type FileHandle } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { HttpServer } from '@svc/kit/http/server.ts';
import { temporaryDirectory, writeFiles } from './store/artifacts.ts';
import { ask } from '../../kit/test/http/raw-client.ts';

/** Larger than what a socket takes unread, and no whole number of pieces. */
const content = Buffer.from(Array.from({ length: 3_000_001 }, (_, index) => (index * 31 + (index >> 12)) % 256));

let port = 0;
let bugs: unknown[];
let opened: Promise<FileHandle>;
let handled: number;

/** Answers every GET with the part of a file that its query names: `/?<start>-<length>`. */
beforeEach(async () => {
  const directory = temporaryDirectory();
  await writeFiles(directory, { content });
  bugs = [];
  handled = 0;
  let tell: (file: FileHandle) => void = () => undefined;
  opened = new Promise((resolve) => (tell = resolve));
  const server = new HttpServer({
    routes: [
      {
        method: 'GET',
        path: '/',
        body: 'unread',
        handle: async ({ query }) => {
          handled += 1;
          const [start = 0, length = 0] = query.split('-').map(Number);
          const file = await open(join(directory, 'content'));
          tell(file);
          return { kind: 'file', status: 200, contentType: 'text/plain', file, start, length };
        },
      },
    ],
    token: null,
    onBug: (error) => bugs.push(error),
  });
  onTestFinished(() => server.close(0));
  const outcome = await server.bind({ address: '127.0.0.1', port: 0 });
  if (outcome.kind !== 'bound') throw new Error(outcome.kind);
  port = outcome.port;
});

async function closed(file: FileHandle): Promise<void> {
  await expect.poll(() => file.fd).toBe(-1);
}

describe('a part of a file', () => {
  it.each([
    [0, 3_000_001],
    [0, 1],
    [262_143, 262_146],
    [3_000_000, 1],
    [7, 0],
  ])('arrives byte for byte, from %d on %d bytes, and closes the file', async (start, length) => {
    const { headers, body } = await ask(port, `GET /?${start}-${length} HTTP/1.1`);
    expect(headers['content-length']).toBe(String(length));
    expect(Buffer.from(body, 'latin1').equals(content.subarray(start, start + length))).toBe(true);
    await closed(await opened);
    expect(bugs).toEqual([]);
  });

  it('reaches many at once, each its own', async () => {
    const starts = Array.from({ length: 24 }, (_, index) => index * 100_003);
    const bodies = await Promise.all(
      starts.map(async (start) => (await ask(port, `GET /?${start}-600000 HTTP/1.1`)).body),
    );
    const wrong = starts.filter((start, index) => {
      return !Buffer.from(bodies[index] ?? '', 'latin1').equals(content.subarray(start, start + 600_000));
    });
    expect(wrong).toEqual([]);
  });

  it('with HEAD sends its head only, and the file closes', async () => {
    const { headers, body } = await ask(port, 'HEAD /?0-3000001 HTTP/1.1');
    expect([headers['content-length'], body]).toEqual(['3000001', '']);
    await closed(await opened);
  });

  it('ends with the connection where the file is shorter than announced', async () => {
    const { headers, body } = await ask(port, 'GET /?2999990-100 HTTP/1.1');
    expect(headers['content-length']).toBe('100');
    expect(body.length).toBeLessThan(100);
    await closed(await opened);
    expect(bugs).toEqual([]);
  });

  it('opens only when its turn behind another one comes', async () => {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const more = 'GET /?0-3000001 HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20);
    socket.write(`${more}GET /?0-1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    await new Promise((resolve) => socket.once('readable', resolve));
    expect(handled).toBe(1);
    let received = 0;
    for await (const chunk of socket) received += (chunk as Buffer).length;
    expect(received).toBeGreaterThan(20 * 3_000_001);
    expect(handled).toBe(21);
  });

  it('closes when its client leaves in the middle', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /?0-3000001 HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await new Promise((resolve) => socket.once('readable', resolve));
    const file = await opened;
    expect(file.fd).toBeGreaterThan(-1);
    socket.destroy();
    await closed(file);
    expect(bugs).toEqual([]);
  });
});
