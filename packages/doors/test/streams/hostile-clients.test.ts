import { setImmediate as turnOfTheEventLoop } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { HeldByStreams, openDescriptors, untilConnections } from './held-by-streams.ts';
import { ack, callBytes, completedBytes, hello, textBytes, useStreamDoors, type StreamDoor } from './stream-door.ts';

const openDoor = useStreamDoors();

const watchBytes = callBytes('stream/watch', {});
const submitBytes = callBytes('message/stream', hello);

/** Resolves once the door has answered a request that was sent after everything before it. */
async function answered(door: StreamDoor): Promise<void> {
  const probe = await door.call('tasks/get', {});
  await probe.until('}}');
  probe.socket.destroy();
}

describe('a client that sends its request byte by byte', () => {
  it.each([
    ['stream/watch', watchBytes, `${ack}${textBytes(1)}${completedBytes(2)}`],
    ['message/stream', submitBytes, `${textBytes(1)}${completedBytes(2)}`],
  ])('gets %s as any other', async (_name, bytes, body) => {
    const door = await openDoor();
    const held = new HeldByStreams(door.fixture);
    const slow = await door.connect();
    slow.socket.setNoDelay(true);
    for (const byte of bytes) {
      slow.send(byte);
      await turnOfTheEventLoop();
    }
    await held.untilReaders(1);
    door.text(1n);
    door.completed(2n);
    await slow.until(completedBytes(2));
    expect(slow.body).toBe(body);
  });

  it('costs nobody else anything, and leaves nothing when it goes away half way', async () => {
    const door = await openDoor();
    const held = new HeldByStreams(door.fixture);
    const normal = await door.watch();
    const slow = await Promise.all(Array.from({ length: 50 }, () => door.connect()));
    for (const byte of watchBytes.slice(0, -1)) {
      for (const reader of slow) reader.send(byte);
      await turnOfTheEventLoop();
    }
    door.text(1n);
    await normal.until(textBytes(1));
    expect(held.readers).toBe(1);
    for (const reader of slow) reader.reset();
    await answered(door);
    expect(held.served).toBe(1);
  });
});

describe('a client that closes its side right after the request', () => {
  it.each(['stream/watch', 'message/stream'])(
    'counts as gone: %s is ended and nothing is left of it',
    async (method) => {
      const door = await openDoor();
      const held = new HeldByStreams(door.fixture);
      const reader = await door.connect();
      reader.socket.end(method === 'stream/watch' ? watchBytes : submitBytes);
      await reader.untilClosed();
      await held.untilReaders(0);
      expect(held.timers).toBe(0);
      expect(reader.body).toBe(method === 'stream/watch' ? ack : '');
      // Its task was accepted before that, and stays so.
      expect(door.fixture.traced).toHaveLength(method === 'stream/watch' ? 0 : 1);
    },
  );

  it('loses its connection also when it closes in the middle of the stream', async () => {
    const door = await openDoor();
    const held = new HeldByStreams(door.fixture);
    const reader = await door.watch();
    door.text(1n);
    await reader.until(textBytes(1));
    reader.socket.end();
    await reader.untilClosed();
    await held.untilReaders(0);
    expect(reader.body).toBe(`${ack}${textBytes(1)}`);
    expect(held.timers).toBe(0);
  });
});

describe('a client that closes its side while frames are on their way to it', () => {
  it('releases its memory, and the frames reach everybody else', async () => {
    const door = await openDoor();
    const held = new HeldByStreams(door.fixture);
    const normal = await door.watch();
    const leaving = [await door.watch(), await door.submit()];
    for (const reader of leaving) reader.socket.end();
    let last = 0n;
    while (held.readers > 1) {
      last += 1n;
      door.text(last);
      await turnOfTheEventLoop();
    }
    door.completed(last + 1n);
    await normal.until(completedBytes(last + 1n));
    expect(normal.ids).toEqual(['-', ...Array.from({ length: Number(last) + 1 }, (_, index) => `${index + 1}`)]);
    for (const reader of leaving) await reader.untilClosed();
  });

  it('releases its memory while it is behind when it reads on, or when the capsule ends', async () => {
    const door = await openDoor();
    const held = new HeldByStreams(door.fixture);
    const normal = await door.watch();
    const readsOn = await door.watch();
    const readsNot = await door.watch();
    for (const reader of [readsOn, readsNot]) reader.socket.pause();
    door.text(1n, 'x'.repeat(16 * 1024 * 1024));
    await normal.until('x"');
    for (const reader of [readsOn, readsNot]) reader.socket.end();
    for (let id = 2n; id <= 300n; id += 1n) door.text(id);
    await normal.until(textBytes(300));
    readsOn.socket.resume();
    await held.untilReaders(2);
    door.fixture.stream.end();
    await held.untilReaders(0);
    expect((await normal.untilClosed()).ids).toHaveLength(302);
    readsNot.socket.resume();
    await readsNot.untilClosed();
  });
});

describe('requests on one connection', () => {
  it('get their answers before the stream', async () => {
    const door = await openDoor();
    const reader = await door.connect();
    reader.send(`${callBytes('tasks/get', {})}${callBytes('tasks/get', { id: 'tsk_0' })}${watchBytes}`);
    await reader.until(ack);
    const answers = reader.bytes.toString().split('HTTP/1.1 200 OK\r\n').slice(1);
    expect(answers.map((answer) => answer.slice(answer.indexOf('\r\n\r\n') + 4))).toEqual([
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Task not found: no task has run yet"}}',
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Task not found: tsk_0"}}',
      ack,
    ]);
  });

  it.each([
    ['in the same piece', (bytes: string) => [`${bytes}${callBytes('tasks/get', {})}`]],
    ['later', (bytes: string) => [bytes, callBytes('tasks/get', {})]],
    ['later, no HTTP', (bytes: string) => [bytes, 'no HTTP at all\r\n\r\n']],
  ])('end the connection behind a stream, %s, and nothing enters the stream', async (_name, pieces) => {
    const asked = [watchBytes, submitBytes].flatMap((bytes) => [false, true].map((isFirst) => ({ bytes, isFirst })));
    for (const { bytes, isFirst } of asked) {
      const door = await openDoor();
      if (!isFirst) {
        const before = await door.connect();
        before.send(watchBytes);
        await before.until(ack);
        before.socket.destroy();
      }
      const held = new HeldByStreams(door.fixture);
      await held.untilReaders(0);
      const reader = await door.connect();
      const [first = '', ...others] = pieces(bytes);
      reader.send(first);
      await held.untilServed(1);
      for (const other of others) reader.send(other);
      await reader.untilClosed();
      await held.untilReaders(0);
      expect(held.timers).toBe(0);
      expect(['', ack]).toContain(reader.body);
    }
  });

  it('never run behind a stream that waits for its turn', async () => {
    const door = await openDoor();
    const task = door.fixture.session.board.submit({ text: 'a', origin: 'user', trust: 'trusted' }).task.id;
    const reader = await door.connect();
    const behind = callBytes('message/send', hello);
    reader.send(`${callBytes('tasks/cancel', { id: task })}${watchBytes}${behind}`);
    await reader.until(ack);
    await answered(door);
    expect(door.fixture.tracedTypes()).toEqual(['task_received', 'task_canceled']);
  });

  it('may be followed by empty lines', async () => {
    const door = await openDoor();
    const reader = await door.connect();
    reader.send(`${watchBytes}\r\n\r\n`);
    await reader.until(ack);
    await answered(door);
    door.text(1n);
    await reader.until(textBytes(1));
    expect(reader.body).toBe(`${ack}${textBytes(1)}`);
  });
});

describe('clients that connect and vanish', () => {
  const ways = {
    'with a FIN': (socket: { destroy: () => void }) => socket.destroy(),
    'with a reset': (socket: { resetAndDestroy: () => void }) => socket.resetAndDestroy(),
  };

  it.for(Object.keys(ways) as (keyof typeof ways)[])(
    '%s leave no reader, timer, connection or descriptor after 200 rounds',
    async (way, context) => {
      context.skip(process.platform !== 'linux', 'needs /proc');
      const door = await openDoor({ acceptance: { queueDepth: 10_000 } });
      const held = new HeldByStreams(door.fixture);
      await answered(door);
      await untilConnections(0);
      const before = { descriptors: openDescriptors(), timers: activeTimers() };
      for (let round = 0; round < 200; round += 1) {
        // Before any byte, half way through the request, right behind it, after the head, after a frame.
        const readers = await Promise.all(Array.from({ length: 5 }, () => door.connect()));
        const bytes = round % 2 === 0 ? watchBytes : submitBytes;
        const [, half, whole, headed, framed] = readers;
        half?.send(bytes.slice(0, bytes.length / 2));
        headed?.send(bytes);
        framed?.send(bytes);
        await Promise.all([headed?.untilHead(), framed?.untilHead()]);
        door.text(1n, 'seen');
        await framed?.until('"seen"');
        whole?.send(bytes);
        for (const reader of readers) ways[way](reader.socket);
      }
      await untilConnections(0);
      await held.untilReaders(0);
      expect(held.served).toBeGreaterThanOrEqual(400);
      expect(held.timers).toBe(0);
      // A leak in each round would show 200 times; a few may belong to the process that runs the tests.
      await expect.poll(activeTimers).toBeLessThan(before.timers + 20);
      await expect.poll(openDescriptors).toBeLessThan(before.descriptors + 20);
      const next = await door.watch(['Last-Event-ID: 1']);
      door.text(2n);
      await next.until(textBytes(2));
      expect(next.body).toBe(`${ack}${textBytes(2)}`);
    },
  );

  it.each(Object.keys(ways) as (keyof typeof ways)[])(
    '%s while they are behind are freed, and the others go on',
    async (way) => {
      const door = await openDoor();
      const held = new HeldByStreams(door.fixture);
      const normal = await door.watch();
      const stalled = [await door.watch(), await door.submit()];
      for (const reader of stalled) reader.socket.pause();
      const fill = 'x'.repeat(16 * 1024 * 1024);
      door.text(1n, fill);
      await normal.until('x"');
      for (let id = 2n; id <= 201n; id += 1n) door.text(id);
      await normal.until(textBytes(201));
      expect(held.readers).toBe(3);
      for (const reader of stalled) ways[way](reader.socket);
      await held.untilReaders(1);
      door.completed(202n);
      await normal.until(completedBytes(202));
      expect(normal.ids).toHaveLength(203);
      normal.socket.destroy();
      await held.untilReaders(0);
      expect(held.timers).toBe(0);
    },
  );
});

function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}
