import { describe, expect, it } from 'vitest';

import { hangs, says } from '../../../../test/support/fake-driver.ts';
import { ack, completedBytes, hello, textBytes, useStreamDoors } from './stream-door.ts';

const openDoor = useStreamDoors();
const closed = 'event: capsule-closed\ndata: {}\n\n';

describe('stream/watch', () => {
  it('writes the acknowledgement, the replay, what is live, and the end of the capsule, in this order [D1-CARD-17, D1-STREAM-24, D1-STREAM-25, D1-STREAM-26, D1-FRAME-43, D1-FRAME-46, D1-FRAME-47, D1-FRAME-57, D1-FRAME-58]', async () => {
    const door = await openDoor();
    for (const id of [1n, 2n, 3n]) door.text(id);
    const reader = await door.watch(['Last-Event-ID: 1']);
    door.text(4n);
    await reader.until('"4"');
    door.fixture.clock.advance(15_000);
    await reader.until(':heartbeat');
    door.text(5n);
    door.fixture.stream.end();
    expect((await reader.untilClosed()).body).toBe(
      [ack, textBytes(2), textBytes(3), textBytes(4), ':heartbeat\n\n', textBytes(5), closed].join(''),
    );
  });

  it('writes a gap frame between the acknowledgement and the buffered frames [D1-STREAM-25, D1-FRAME-41, D1-FRAME-42, D1-FRAME-56]', async () => {
    const door = await openDoor();
    door.text(4611686018427387903n);
    door.text(0n);
    const reader = await door.watch();
    door.fixture.stream.end();
    expect((await reader.untilClosed()).body).toBe(
      [
        ack,
        'event: gap\ndata: {"first_available_id":4611686018427387903}\n\n',
        textBytes(4611686018427387903n),
        textBytes(0),
        closed,
      ].join(''),
    );
  });

  it('goes on after a final status, also after a replayed one [D1-STREAM-06]', async () => {
    const door = await openDoor();
    door.completed(1n);
    const reader = await door.watch();
    await reader.until(completedBytes(1));
    door.completed(2n);
    door.text(3n);
    await reader.until(textBytes(3));
    expect(reader.body).toBe([ack, completedBytes(1), completedBytes(2), textBytes(3)].join(''));
    expect(reader.ended).toBe(false);
  });

  it('acknowledges the conversation mode of the manifest [D1-FRAME-44, D1-FRAME-45]', async () => {
    const door = await openDoor({ conversationMode: 'threaded' });
    expect((await door.watch()).body).toBe(
      'event: connection-ack\ndata: {"role":"observer","conversation_mode":"threaded"}\n\n',
    );
  });

  it('gets an acknowledgment, a replay and an end where the stream of the capsule has ended', async () => {
    const door = await openDoor();
    door.text(1n);
    door.fixture.stream.end();
    const reader = await door.call('stream/watch', {});
    expect((await reader.untilClosed()).body).toBe([ack, textBytes(1), closed].join(''));
  });

  it.each([
    ['absent', undefined],
    ['an object', {}],
    ['a list', []],
    ['a number', 5],
    ['a string', 'x'],
    ['null', null],
    ['an object with keys', { a: 1, role: 'owner', lastEventId: 9 }],
    ['a message', hello],
  ])('reads nothing of its params: %s [D1-STREAM-05]', async (_name, params) => {
    const door = await openDoor();
    door.text(1n);
    const reader = await door.call('stream/watch', params);
    await reader.until(textBytes(1));
    expect(reader.body).toBe(`${ack}${textBytes(1)}`);
    expect(door.fixture.traced).toEqual([]);
  });

  it.each(['none', 'single', 'queue'] as const)(
    'works with task_acceptance %s [D1-STREAM-11]',
    async (taskAcceptance) => {
      const door = await openDoor({ acceptance: { taskAcceptance, afterTask: 'exit' } });
      expect((await door.watch()).body).toBe(ack);
    },
  );

  it('shows the tasks of everybody, with the id of each in its data [D1-STREAM-12, D1-STREAM-14, D1-STREAM-15, D1-FRAME-53, D1-FRAME-55]', async () => {
    const door = await openDoor({ turns: [says('One.'), says('Two.')], acceptance: { queueDepth: 5 } });
    const first = await door.watch();
    const second = await door.watch();
    const { board } = door.fixture.session;
    const one = board.submit({ text: 'a', origin: 'user', trust: 'trusted' }).task.id;
    const two = board.submit({ text: 'b', origin: 'message', trust: 'untrusted' }).task.id;
    void door.fixture.session.run();
    const frames = (task: string, text: string): string =>
      [
        `id: 0\nevent: status\ndata: {"id":"${task}","status":{"state":"working","message":"inference turn 1"},"final":false}\n\n`,
        `id: 1\nevent: text\ndata: {"id":"${task}","text":"${text}","final":true}\n\n`,
        `id: 2\nevent: status\ndata: {"id":"${task}","status":{"state":"completed","message":"session ended"},"final":true}\n\n`,
      ].join('');
    const all = `${frames(one, 'One.')}${frames(two, 'Two.')}`;
    for (const reader of [first, second]) {
      await reader.until(all);
      expect(reader.body).toBe(`${ack}${all}`);
      expect(reader.head).not.toMatch(/tsk_|ctx_/);
    }
    expect(one).not.toBe(two);
  });

  it('never sees what is for the submitter alone: a rejection, an error [D1-FRAME-49, D1-FRAME-54, D1-FRAME-59, D1-REPLAY-03]', async () => {
    const door = await openDoor({ turns: [hangs], acceptance: { queueDepth: 0 } });
    const watcher = await door.watch();
    const accepted = await door.submit();
    const rejected = await door.call('message/stream', hello);
    expect((await rejected.untilClosed()).body).toContain('"state":"rejected"');
    const wrong = await door.call('message/stream', { role: 'user' });
    expect((await wrong.untilClosed()).body).toMatch(/^event: error\n/);
    door.text(1n);
    await watcher.until(textBytes(1));
    await accepted.until(textBytes(1));
    expect(watcher.body).toBe(`${ack}${textBytes(1)}`);
    expect(accepted.body).toBe(textBytes(1));
    expect((await door.watch()).body).toBe(`${ack}${textBytes(1)}`);
  });
});
