import { describe, expect, it } from 'vitest';

import { ack, completedBytes, hello, textBytes, useStreamDoors, type StreamDoor } from './stream-door.ts';

const openDoor = useStreamDoors();

const big = 18446744073709551615n;

/** What a `message/stream` with these headers is written: replayed frames, then the final status that closes it. */
async function submitted(door: StreamDoor, headers: readonly string[]): Promise<string> {
  const reader = await door.submit(headers);
  door.completed(7n);
  return (await reader.untilClosed()).body;
}

/** What a `stream/watch` with these headers is written up to a frame that follows its replay. */
async function watched(door: StreamDoor, headers: readonly string[]): Promise<string> {
  const reader = await door.watch(headers);
  door.text(7n, 'live');
  await reader.until(textBytes(7, 'live'));
  return reader.body;
}

/** Frames with these ids are in the buffer: no start below 2^64-1 makes a gap of the first, and each start replays others. */
async function filledDoor(): Promise<StreamDoor> {
  const door = await openDoor();
  for (const id of [1n, 6n, 17n, 9223372036854775808n, big]) door.text(id);
  return door;
}

const all = [textBytes(1), textBytes(6), textBytes(17), textBytes(9223372036854775808n), textBytes(big)];

describe('a Last-Event-ID that is a number', () => {
  it.each([
    ['0', 'Last-Event-ID: 0', 0],
    ['in lower case', 'last-event-id: 5', 1],
    ['in upper case', 'LAST-EVENT-ID: 5', 1],
    ['in any case', 'lAsT-eVeNt-Id: 6', 2],
    ['between spaces', 'Last-Event-ID:  \t 6 \t ', 2],
    ['without a space', 'Last-Event-ID:6', 2],
    ['with leading zeros', 'Last-Event-ID: 0016', 2],
    ['with thousands of leading zeros', `Last-Event-ID: ${'0'.repeat(8000)}16`, 2],
    ['2^63-1', 'Last-Event-ID: 9223372036854775807', 3],
    ['2^63', 'Last-Event-ID: 9223372036854775808', 4],
    ['2^53+1, which no double holds', 'Last-Event-ID: 9007199254740993', 3],
    ['2^64-2', 'Last-Event-ID: 18446744073709551614', 4],
    ['2^64-1', 'Last-Event-ID: 18446744073709551615', 5],
  ])(
    '%s: both streams replay the frames with greater ids [D1-STREAM-09, D1-REPLAY-04, D1-REPLAY-06, D1-REPLAY-09]',
    async (_name, header, skipped) => {
      const replay = all.slice(skipped).join('');
      expect(await submitted(await filledDoor(), [header])).toBe(`${replay}${completedBytes(7)}`);
      expect(await watched(await filledDoor(), [header])).toBe(`${ack}${replay}${textBytes(7, 'live')}`);
    },
  );

  it('counts exactly above 2^53: ids that differ by one stay apart [D1-REPLAY-09]', async () => {
    const door = await openDoor();
    for (const id of [1n, 9223372036854775807n, 9223372036854775808n]) door.text(id);
    expect(await watched(door, ['Last-Event-ID: 9223372036854775807'])).toBe(
      `${ack}${textBytes(9223372036854775808n)}${textBytes(7, 'live')}`,
    );
  });

  it('one below the oldest makes no gap, two below it does, also around 2^63 and at 2^64-1 [D1-REPLAY-08]', async () => {
    for (const oldest of [2n, 9223372036854775808n, big]) {
      const near = await openDoor();
      near.text(oldest);
      expect(await watched(near, [`Last-Event-ID: ${oldest - 1n}`])).toBe(
        `${ack}${textBytes(oldest)}${textBytes(7, 'live')}`,
      );
      const far = await openDoor();
      far.text(oldest);
      expect(await watched(far, [`Last-Event-ID: ${oldest - 2n}`])).toBe(
        `${ack}event: gap\ndata: {"first_available_id":${oldest}}\n\n${textBytes(oldest)}${textBytes(7, 'live')}`,
      );
    }
  });

  it('never wraps at 2^64-1: nothing is greater and there is no gap [D1-REPLAY-08, D1-REPLAY-09]', async () => {
    const door = await openDoor();
    door.text(big);
    door.text(0n);
    expect(await submitted(door, ['Last-Event-ID: 18446744073709551615'])).toBe(completedBytes(7));
  });
});

describe('a Last-Event-ID that is not a number', () => {
  it.each([
    ['absent', []],
    ['empty', ['Last-Event-ID:']],
    ['blank', ['Last-Event-ID:   ']],
    ['a word', ['Last-Event-ID: abc']],
    ['negative', ['Last-Event-ID: -1']],
    ['signed', ['Last-Event-ID: +1']],
    ['an exponent', ['Last-Event-ID: 1e3']],
    ['hexadecimal', ['Last-Event-ID: 0x10']],
    ['a fraction', ['Last-Event-ID: 1.0']],
    ['with separators', ['Last-Event-ID: 1_000']],
    ['with a space inside', ['Last-Event-ID: 1 6']],
    ['with a suffix', ['Last-Event-ID: 16n']],
    ['in quotes', ['Last-Event-ID: "16"']],
    ['in other digits', ['Last-Event-ID: \u0661\u0666']],
    ['in full-width digits', ['Last-Event-ID: \uff11\uff16']],
    ['NaN', ['Last-Event-ID: NaN']],
    ['2^64', ['Last-Event-ID: 18446744073709551616']],
    ['longer than any number', [`Last-Event-ID: ${'9'.repeat(8000)}`]],
    ['given twice', ['Last-Event-ID: 6', 'Last-Event-ID: 16']],
    ['given twice alike', ['Last-Event-ID: 16', 'last-event-id: 16']],
    ['a list', ['Last-Event-ID: 6, 16']],
  ])('%s: message/stream replays nothing, stream/watch from 0 [D1-REPLAY-05, D1-REPLAY-06]', async (_name, headers) => {
    expect(await submitted(await filledDoor(), headers)).toBe(completedBytes(7));
    expect(await watched(await filledDoor(), headers)).toBe(`${ack}${all.join('')}${textBytes(7, 'live')}`);
  });

  it('makes stream/watch write a gap where one from 0 applies, and message/stream never [D1-FRAME-56]', async () => {
    const door = await openDoor();
    door.text(2n);
    expect(await watched(door, ['Last-Event-ID: abc'])).toBe(
      `${ack}event: gap\ndata: {"first_available_id":2}\n\n${textBytes(2)}${textBytes(7, 'live')}`,
    );
    expect(await submitted(door, ['Last-Event-ID: abc'])).toBe(completedBytes(7));
  });
});

describe('any Last-Event-ID with an empty buffer', () => {
  it.each(['0', '5', '18446744073709551615', 'abc', ''])('%j writes nothing [D1-REPLAY-07]', async (value) => {
    const header = `Last-Event-ID: ${value}`;
    expect(await submitted(await openDoor(), [header])).toBe(completedBytes(7));
    expect(await watched(await openDoor(), [header])).toBe(`${ack}${textBytes(7, 'live')}`);
  });
});

describe('a head that is too long', () => {
  it('with a Last-Event-ID fails before it is read', async () => {
    const door = await openDoor();
    const reader = await door.call('message/stream', hello, [`Last-Event-ID: ${'0'.repeat(20_000)}1`]);
    expect((await reader.untilClosed()).head).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(door.fixture.traced).toEqual([]);
  });
});
