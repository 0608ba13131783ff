import { describe, expect, it } from 'vitest';

import { ack, completedBytes, textBytes, useStreamDoors } from './stream-door.ts';

const openDoor = useStreamDoors();

describe('a heartbeat', () => {
  it('has one comment line and a blank line, without an id, on both streams [D1-BEAT-01, D1-BEAT-03, D1-FRAME-05, D1-FRAME-60]', async () => {
    const door = await openDoor();
    const watcher = await door.watch();
    const stream = await door.submit();
    door.fixture.clock.advance(15_000);
    await watcher.until('\n\n:heartbeat\n\n');
    await stream.until('\r\n\r\n:heartbeat\n\n');
    expect(watcher.body).toBe(`${ack}:heartbeat\n\n`);
    expect(stream.body).toBe(':heartbeat\n\n');
  });

  it('comes 15 seconds after its connection opened, whatever frames come between [D1-BEAT-02, D1-LIMIT-03]', async () => {
    const door = await openDoor();
    const { clock } = door.fixture;
    const first = await door.watch();
    clock.advance(10_000);
    const second = await door.watch();
    door.text(1n);
    await first.until(textBytes(1));
    clock.advance(4999);
    door.text(2n);
    await first.until(textBytes(2));
    clock.advance(1);
    await first.until(':heartbeat');
    door.text(3n);
    for (const reader of [first, second]) await reader.until(textBytes(3));
    clock.advance(10_000);
    await second.until(':heartbeat');
    door.text(4n);
    for (const reader of [first, second]) await reader.until(textBytes(4));
    const frames = [textBytes(1), textBytes(2), textBytes(3), textBytes(4)] as const;
    expect(first.body).toBe([ack, frames[0], frames[1], ':heartbeat\n\n', frames[2], frames[3]].join(''));
    expect(second.body).toBe([ack, frames[0], frames[1], frames[2], ':heartbeat\n\n', frames[3]].join(''));
  });

  it('comes once when the capsule is free after it came due several times [D1-BEAT-05]', async () => {
    const door = await openDoor();
    const reader = await door.watch();
    door.fixture.clock.advance(50_000);
    door.text(1n);
    await reader.until(textBytes(1));
    expect(reader.body).toBe(`${ack}:heartbeat\n\n${textBytes(1)}`);
    door.fixture.clock.advance(10_000);
    door.text(2n);
    await reader.until(textBytes(2));
    expect(reader.body).toBe(`${ack}:heartbeat\n\n${textBytes(1)}:heartbeat\n\n${textBytes(2)}`);
  });

  it('keeps no connection open that has closed [D1-STREAM-22]', async () => {
    const door = await openDoor();
    const stream = await door.submit();
    door.fixture.clock.advance(15_000);
    await stream.until(':heartbeat');
    door.completed(1n);
    await stream.untilClosed();
    door.fixture.clock.advance(60_000);
    expect(stream.body).toBe(`:heartbeat\n\n${completedBytes(1)}`);
  });
});
