import { describe, expect, it } from 'vitest';

import { says, type Turn } from '../../../../test/support/fake-driver.ts';
import { HeldByStreams } from './held-by-streams.ts';
import { ack, completedBytes, hello, textBytes, useStreamDoors, type StreamDoor } from './stream-door.ts';
import type { StreamReader } from './stream-reader.ts';

const openDoor = useStreamDoors();

/** More than the system takes for a reader that does not read, by far. */
const fill = 'x'.repeat(16 * 1024 * 1024);

/** The id lines of `count` frames from `first` on. */
function idsFrom(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${first + index}`);
}

/** Leaves `stalled` behind with frame 1 on its way to it, while `others` have taken that frame. */
async function fallBehind(door: StreamDoor, stalled: StreamReader, others: readonly StreamReader[]): Promise<void> {
  stalled.socket.pause();
  door.text(1n, fill);
  for (const other of others) await other.until('x"');
}

describe('a reader that does not read', () => {
  it('loses exactly the oldest beyond 128 and gets the newest 128 in order, with nothing in place of the others [D1-MISS-01, D1-MISS-02, D1-LIMIT-02]', async () => {
    const door = await openDoor();
    const normal = await door.watch();
    const stalled = await door.watch();
    await fallBehind(door, stalled, [normal]);
    for (let id = 2n; id <= 301n; id += 1n) door.text(id);
    await normal.until(textBytes(301));
    stalled.socket.resume();
    await stalled.until(textBytes(301));
    expect(stalled.ids).toEqual(['-', '1', ...idsFrom(174, 128)]);
    const queued = idsFrom(174, 128).map((id) => textBytes(BigInt(id)));
    expect(stalled.body.slice(ack.length)).toBe(`${textBytes(1, fill)}${queued.join('')}`);
    expect(normal.ids).toEqual(['-', ...idsFrom(1, 301)]);
  });

  it('loses none of 128 and the first of 129 [D1-MISS-01, D1-MISS-02, D1-LIMIT-02]', async () => {
    for (const [queued, lost] of [
      [128, 0],
      [129, 1],
    ] as const) {
      const door = await openDoor();
      const normal = await door.watch();
      const stalled = await door.watch();
      await fallBehind(door, stalled, [normal]);
      // Each frame on a turn of its own, so that no number of frames sent at once plays a part.
      const later = await door.watch(['Last-Event-ID: 1']);
      for (let id = 2; id <= queued + 1; id += 1) {
        door.text(BigInt(id));
        await later.until(textBytes(id));
      }
      stalled.socket.resume();
      await stalled.until(textBytes(queued + 1));
      expect(stalled.ids).toEqual(['-', '1', ...idsFrom(2 + lost, 128)]);
    }
  });

  it('goes on behind a final status that it gets late, when it watches [D1-STREAM-06]', async () => {
    const door = await openDoor();
    const normal = await door.watch();
    const stalled = await door.watch();
    await fallBehind(door, stalled, [normal]);
    door.completed(2n);
    door.text(3n);
    await normal.until(textBytes(3));
    stalled.socket.resume();
    await stalled.until(textBytes(3));
    door.text(4n);
    await stalled.until(textBytes(4));
    expect(stalled.ids).toEqual(['-', ...idsFrom(1, 4)]);
  });

  it('gets everything again once it has caught up, and what it lost from a replay [D1-MISS-03]', async () => {
    const door = await openDoor();
    const normal = await door.watch();
    const stalled = await door.watch();
    await fallBehind(door, stalled, [normal]);
    for (let id = 2n; id <= 201n; id += 1n) door.text(id);
    stalled.socket.resume();
    await stalled.until(textBytes(201));
    for (let id = 202n; id <= 401n; id += 1n) door.text(id);
    await stalled.until(textBytes(401));
    expect(stalled.ids).toEqual(['-', '1', ...idsFrom(74, 328)]);
    const again = await door.watch(['Last-Event-ID: 1']);
    await again.until(textBytes(401));
    expect(again.ids).toEqual(['-', ...idsFrom(2, 400)]);
  });

  it('gets no heartbeat for the time it was behind, and loses no frame to one', async () => {
    const door = await openDoor();
    const normal = await door.watch();
    const stalled = await door.watch();
    await fallBehind(door, stalled, [normal]);
    for (let beat = 0; beat < 200; beat += 1) door.fixture.clock.advance(15_000);
    for (let id = 2n; id <= 129n; id += 1n) door.text(id);
    await normal.until(textBytes(129));
    stalled.socket.resume();
    await stalled.until(textBytes(129));
    expect(normal.body.match(/^:heartbeat$/gm)).toHaveLength(200);
    expect(stalled.body).not.toContain(':heartbeat');
    expect(stalled.ids).toEqual(['-', ...idsFrom(1, 129)]);
    door.fixture.clock.advance(15_000);
    await stalled.until(':heartbeat\n\n');
  });

  it('gets what is queued and the end of the stream when the capsule ends', async () => {
    const door = await openDoor();
    const held = new HeldByStreams(door.fixture);
    const normal = await door.watch();
    const stalled = await door.watch();
    await fallBehind(door, stalled, [normal]);
    for (let id = 2n; id <= 201n; id += 1n) door.text(id);
    expect([held.readers, held.timers]).toEqual([2, 1]);
    door.fixture.stream.end();
    // Nothing is kept for a reader whose stream has ended, however long it takes to read the rest.
    expect([held.readers, held.timers]).toEqual([0, 0]);
    await normal.untilClosed();
    stalled.socket.resume();
    await stalled.untilClosed();
    expect(stalled.ids).toEqual(['-', '1', ...idsFrom(74, 128), '-']);
    expect(stalled.body.endsWith('event: capsule-closed\ndata: {}\n\n')).toBe(true);
  });

  it('keeps its loss to itself in a replay that it does not read', async () => {
    const door = await openDoor();
    for (let id = 1n; id <= 512n; id += 1n) door.text(id, 'x'.repeat(100_000));
    const normal = await door.watch(['Last-Event-ID: 512']);
    const stalled = await door.connect();
    stalled.socket.pause();
    stalled.send(
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 48\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"stream/watch"}',
    );
    // Its request is read before one that is sent after the answer to a later one.
    await door.watch(['Last-Event-ID: 512']);
    await door.watch(['Last-Event-ID: 512']);
    for (let id = 513n; id <= 712n; id += 1n) door.text(id);
    await normal.until(textBytes(712));
    stalled.socket.resume();
    await stalled.until(textBytes(712));
    expect(stalled.ids).toEqual(['-', ...idsFrom(1, 512), ...idsFrom(585, 128)]);
  });
});

describe('a message/stream whose reader is behind', () => {
  it('gets its final status and is closed behind it [D1-STREAM-03]', async () => {
    const door = await openDoor();
    const normal = await door.watch();
    const stalled = await door.submit();
    await fallBehind(door, stalled, [normal]);
    for (let id = 2n; id <= 201n; id += 1n) door.text(id);
    door.completed(202n);
    for (let id = 203n; id <= 210n; id += 1n) door.text(id);
    await normal.until(textBytes(210));
    stalled.socket.resume();
    await stalled.untilClosed();
    expect(stalled.ids).toEqual(['1', ...idsFrom(83, 120)]);
    expect(stalled.body.endsWith(completedBytes(202))).toBe(true);
  });

  it('ends at the first final status that reaches it, when the first of all was lost [D1-STREAM-03, D1-MISS-02]', async () => {
    const door = await openDoor();
    const normal = await door.watch();
    const stalled = await door.submit();
    await fallBehind(door, stalled, [normal]);
    door.completed(2n);
    for (let id = 3n; id <= 131n; id += 1n) door.text(id);
    door.completed(132n);
    door.completed(133n);
    await normal.until(completedBytes(133));
    stalled.socket.resume();
    await stalled.untilClosed();
    expect(stalled.ids).toEqual(['1', ...idsFrom(6, 127)]);
  });

  it('ends when the capsule ends, with what is queued and nothing of its own', async () => {
    const door = await openDoor();
    const normal = await door.watch();
    const stalled = await door.submit();
    await fallBehind(door, stalled, [normal]);
    for (let id = 2n; id <= 4n; id += 1n) door.text(id);
    door.fixture.stream.end();
    await normal.untilClosed();
    stalled.socket.resume();
    await stalled.untilClosed();
    expect(stalled.ids).toEqual(['1', '2', '3', '4']);
  });
});

describe('a reader that keeps up', () => {
  it('loses none of 5,000 frames that are published at once', async () => {
    const door = await openDoor();
    const readers = [await door.watch(), await door.submit()];
    for (let id = 1n; id <= 5000n; id += 1n) door.text(id);
    for (const reader of readers) {
      await reader.until(textBytes(5000));
      expect(reader.ids.filter((id) => id !== '-')).toEqual(idsFrom(1, 5000));
    }
  });

  it('loses none of 600 chunks of a driver that emits them at once', async () => {
    const burst: Turn = async (_request, call) => {
      for (let chunk = 0; chunk < 600; chunk += 1) call.onText(`${chunk} `);
      return says('Done.');
    };
    const door = await openDoor({ turns: [burst] });
    void door.fixture.session.run();
    const reader = await door.call('message/stream', hello);
    expect((await reader.untilClosed()).body.match(/^event: text$/gm)).toHaveLength(601);
  });

  it('gets frames of 5 MB whole, and what is published around them in order', async () => {
    const door = await openDoor();
    const reader = await door.watch();
    const large = 'y'.repeat(5_000_000);
    door.text(1n);
    door.text(2n, large);
    door.text(3n);
    door.text(4n, large);
    door.text(5n);
    await reader.until(textBytes(5));
    expect(
      reader.body ===
        [ack, textBytes(1), textBytes(2, large), textBytes(3), textBytes(4, large), textBytes(5)].join(''),
    ).toBe(true);
  });
});
