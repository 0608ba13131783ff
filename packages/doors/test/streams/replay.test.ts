import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { heartbeat } from '@svc/protocol/frames.ts';
import { hangs } from '../../../../test/support/fake-driver.ts';
import { ack, completedBytes, hello, textBytes, useStreamDoors, type StreamDoor } from './stream-door.ts';

const openDoor = useStreamDoors();

/** Ids as the four counters give them, near each other so that they repeat and stand next to one another. */
const eventIds = fc
  .tuple(
    fc.constantFrom(0n, 2305843009213693951n, 4611686018427387903n, 9223372036854775807n, 18446744073709551600n),
    fc.bigInt({ min: 0n, max: 15n }),
  )
  .map(([start, offset]) => start + offset);

/** The starts that show most are those next to an id. */
const starts = fc.oneof(eventIds, fc.bigInt({ min: 0n, max: 18446744073709551615n }));

/** The rules of replay, said once more: the last 512 in the order written, compared with the start one by one. */
function expected(written: readonly bigint[], start: bigint): string {
  const kept: bigint[] = [];
  for (const id of written) {
    kept.push(id);
    if (kept.length === 513) kept.shift();
  }
  const oldest = kept[0];
  if (oldest === undefined) return '';
  let bytes = '';
  const isGap = oldest > start + 1n;
  if (isGap) bytes += `event: gap\ndata: {"first_available_id":${oldest}}\n\n`;
  for (const id of kept) if (isGap || id > start) bytes += textBytes(id);
  return bytes;
}

/** What the door writes for a start, up to the end of its replay. */
async function replayed(door: StreamDoor, start: bigint): Promise<{ watched: string; streamed: string }> {
  const headers = [`Last-Event-ID: ${start}`];
  const watcher = await door.call('stream/watch', {}, headers);
  // Params that are no message close the stream right after its replay.
  const stream = await door.call('message/stream', {}, headers);
  const { body } = await stream.untilClosed();
  const streamed = body.slice(0, body.indexOf('event: error\n'));
  await watcher.until(`${ack}${streamed}`);
  watcher.socket.destroy();
  return { watched: watcher.body, streamed };
}

describe('the replay', () => {
  it('follows the rules for any frames from any start, on both streams [D1-REPLAY-01, D1-REPLAY-02, D1-REPLAY-08, D1-REPLAY-09, D1-REPLAY-12]', async () => {
    const manyFrames = fc.array(eventIds, { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(manyFrames, fc.array(starts, { minLength: 1, maxLength: 3 }), async (written, from) => {
        const door = await openDoor();
        for (const id of written) door.text(id);
        for (const start of from) {
          const { watched, streamed } = await replayed(door, start);
          expect(streamed).toBe(expected(written, start));
          expect(watched).toBe(`${ack}${expected(written, start)}`);
        }
        await door.close();
      }),
      { numRuns: 60 },
    );
  });

  it('follows the rules also where frames have been evicted [D1-REPLAY-01, D1-REPLAY-02, D1-LIMIT-01]', async () => {
    const counts = fc.constantFrom(511, 512, 513, 514, 1023, 1024, 1025, 1500);
    await fc.assert(
      fc.asyncProperty(counts, fc.infiniteStream(eventIds), starts, async (count, ids, start) => {
        const door = await openDoor();
        const written = [...ids.take(count)];
        for (const id of written) door.text(id);
        const { watched, streamed } = await replayed(door, start);
        expect(streamed).toBe(expected(written, start));
        expect(watched).toBe(`${ack}${expected(written, start)}`);
        await door.close();
      }),
      { numRuns: 24 },
    );
  });

  it('holds the last 512 frames, oldest first: the 513th evicts the first [D1-REPLAY-01, D1-REPLAY-02, D1-LIMIT-01]', async () => {
    const door = await openDoor();
    for (let id = 1n; id <= 512n; id += 1n) door.text(id);
    const all = Array.from({ length: 513 }, (_, index) => textBytes(index + 1));
    expect((await replayed(door, 0n)).streamed).toBe(all.slice(0, 512).join(''));
    door.text(513n);
    const gap = 'event: gap\ndata: {"first_available_id":2}\n\n';
    expect((await replayed(door, 0n)).streamed).toBe(`${gap}${all.slice(1).join('')}`);
  });

  it('has the same bytes for both streams and for every connection [D1-REPLAY-01]', async () => {
    const door = await openDoor();
    const live = [await door.watch(), await door.submit()];
    door.text(1n);
    for (const reader of live) await reader.until(textBytes(1));
    for (let again = 0; again < 2; again += 1) {
      expect(await replayed(door, 0n)).toEqual({ watched: `${ack}${textBytes(1)}`, streamed: textBytes(1) });
    }
  });

  it('compares ids, not positions: it repeats earlier higher ids and skips later lower ones [D1-REPLAY-10]', async () => {
    const door = await openDoor();
    for (const id of [0n, 1n, 2n, 3n, 0n, 1n]) door.text(id);
    expect((await replayed(door, 1n)).streamed).toBe(`${textBytes(2)}${textBytes(3)}`);
  });

  it('starts after 0 with no frame of id 0, unless there is a gap, which shows every frame [D1-REPLAY-08, D1-REPLAY-11]', async () => {
    const door = await openDoor();
    for (const id of [0n, 1n, 0n, 1n]) door.text(id);
    expect((await replayed(door, 0n)).watched).toBe(`${ack}${textBytes(1)}${textBytes(1)}`);
    const gapped = await openDoor();
    for (const id of [2n, 0n]) gapped.text(id);
    expect((await replayed(gapped, 0n)).streamed).toBe(
      `event: gap\ndata: {"first_available_id":2}\n\n${textBytes(2)}${textBytes(0)}`,
    );
  });

  it('has a gap where nothing was evicted and none where something was: ids decide [D1-REPLAY-12]', async () => {
    const nothingEvicted = await openDoor();
    nothingEvicted.text(5n);
    expect((await replayed(nothingEvicted, 3n)).streamed).toMatch(/^event: gap\n/);
    const evicted = await openDoor();
    for (let frame = 0; frame < 600; frame += 1) evicted.text(BigInt(frame % 2));
    expect((await replayed(evicted, 0n)).streamed).toBe(textBytes(1).repeat(256));
  });

  it('never repeats what is of one connection: heartbeats, acknowledgements, gaps, errors, rejections [D1-BEAT-04, D1-REPLAY-03]', async () => {
    const door = await openDoor({ turns: [hangs], acceptance: { queueDepth: 0 } });
    door.text(7n);
    const watcher = await door.watch(['Last-Event-ID: 2']);
    await watcher.until('event: gap\n');
    door.fixture.clock.advance(15_000);
    await watcher.until(heartbeat);
    await door.submit();
    await door.call('message/stream', hello).then((reader) => reader.untilClosed());
    await door.call('message/stream', {}).then((reader) => reader.untilClosed());
    door.completed(8n);
    await watcher.until(completedBytes(8));
    expect((await replayed(door, 6n)).watched).toBe(`${ack}${textBytes(7)}${completedBytes(8)}`);
    door.fixture.stream.end();
    const late = await door.call('stream/watch', {}, ['Last-Event-ID: 6']);
    expect((await late.untilClosed()).body).toBe(
      `${ack}${textBytes(7)}${completedBytes(8)}event: capsule-closed\ndata: {}\n\n`,
    );
  });

  it('arrives whole when it is longer than what a connection takes at once, and live frames follow it in order', async () => {
    const door = await openDoor();
    const long = 'x'.repeat(100_000);
    for (let id = 1n; id <= 512n; id += 1n) door.text(id, long);
    const reader = await door.call('stream/watch', {});
    await reader.untilHead();
    for (let id = 1000n; id < 1128n; id += 1n) door.text(id);
    door.fixture.stream.end();
    await reader.untilClosed();
    const ids = Array.from({ length: 512 }, (_, index) => `${index + 1}`);
    const liveIds = Array.from({ length: 128 }, (_, index) => `${index + 1000}`);
    expect(reader.ids).toEqual(['-', ...ids, ...liveIds, '-']);
    expect(reader.bytes.length).toBeGreaterThan(51_200_000);
  });
});
