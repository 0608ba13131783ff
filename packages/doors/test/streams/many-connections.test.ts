import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setImmediate as turnOfTheEventLoop } from 'node:timers/promises';

import { afterEach, describe, expect, it } from 'vitest';

import { HeldByStreams } from './held-by-streams.ts';
import { ack, callBytes, completedBytes, textBytes, useStreamDoors } from './stream-door.ts';

const openDoor = useStreamDoors();
const idle: Socket[] = [];

afterEach(() => {
  for (const socket of idle.splice(0)) socket.destroy();
});

/** Connections that ask for a stream and never read a byte of it. */
async function openIdle(port: number, count: number): Promise<void> {
  for (let opened = 0; opened < count; opened += 100) {
    const sockets = Array.from({ length: 100 }, () => connect({ port, host: '127.0.0.1' }).pause());
    idle.push(...sockets);
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) socket.write(callBytes('stream/watch', {}));
  }
}

describe('2,000 connections that read nothing', () => {
  it('cost a reader no frame and no order, get no say in when a task ends, and are freed when they go', async () => {
    const door = await openDoor();
    const held = new HeldByStreams(door.fixture);
    await openIdle(door.port, 2000);
    await held.untilReaders(2000);
    expect(held.timers).toBe(1);
    const watcher = await door.watch();
    const stream = await door.submit();
    const expected: string[] = [];
    for (let id = 1; id <= 300; id += 1) {
      door.text(BigInt(id));
      expected.push(textBytes(id));
      // Every tenth frame is waited for: it comes while none of the others has read anything.
      if (id % 10 === 0) await watcher.until(textBytes(id));
    }
    door.completed(301n);
    await watcher.until(completedBytes(301));
    await stream.untilClosed();
    expect(watcher.body).toBe([ack, ...expected, completedBytes(301)].join(''));
    expect(stream.body).toBe([...expected, completedBytes(301)].join(''));
    expect(idle.every((socket) => socket.bytesRead === 0)).toBe(true);
    door.fixture.clock.advance(15_000);
    await watcher.until(':heartbeat\n\n');
    for (const socket of idle.splice(0)) socket.resetAndDestroy();
    await held.untilReaders(1);
    door.text(302n);
    await watcher.until(textBytes(302));
  });
});

describe('300 connections that read nothing of a long frame', () => {
  it('hold 64 MiB of it together, and no copy each', async () => {
    const door = await openDoor();
    const held = new HeldByStreams(door.fixture);
    await openIdle(door.port, 300);
    await held.untilReaders(300);
    const before = process.memoryUsage().arrayBuffers;
    door.text(1n, 'x'.repeat(16 * 1024 * 1024));
    let grownMebibytes = 0;
    for (let turn = 0; turn < 100; turn += 1) {
      await turnOfTheEventLoop();
      grownMebibytes = Math.max(grownMebibytes, (process.memoryUsage().arrayBuffers - before) / 1024 / 1024);
    }
    expect(grownMebibytes).toBeGreaterThan(10);
    expect(grownMebibytes).toBeLessThan(100);
  });
});
