import { describe, expect, it } from 'vitest';

import { ack, textBytes, useStreamDoors } from './stream-door.ts';

const openDoor = useStreamDoors();

/** Returns the lines of each group that are not data. */
function linesBeforeData(body: string): string[] {
  return body
    .split('\n\n')
    .slice(0, -1)
    .map((group) => group.split('\n').filter((line) => !line.startsWith('data: ')))
    .map((lines) => lines.join(' '));
}

describe('what belongs to one connection', () => {
  it('has no id: the acknowledgement, a gap, heartbeats, an error and the end of the capsule [D1-ID-06]', async () => {
    const door = await openDoor();
    door.text(7n);
    const watcher = await door.watch();
    door.fixture.clock.advance(15_000);
    await watcher.until(':heartbeat');
    const refused = await (await door.call('message/stream', { message: { role: 'user' } })).untilClosed();
    door.fixture.stream.end();
    expect(linesBeforeData((await watcher.untilClosed()).body)).toEqual([
      'event: connection-ack',
      'event: gap',
      'id: 7 event: text',
      ':heartbeat',
      'event: capsule-closed',
    ]);
    expect(linesBeforeData(refused.body)).toEqual(['event: error']);
    expect(watcher.body.startsWith(ack)).toBe(true);
    expect(watcher.body).toContain(textBytes(7));
  });
});
