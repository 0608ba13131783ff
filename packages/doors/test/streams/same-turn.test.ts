import { describe, expect, it } from 'vitest';

import { ack, callBytes, completedBytes, hello, textBytes, useStreamDoors } from './stream-door.ts';

const openDoor = useStreamDoors();

/** A task that waits in the queue; its cancellation publishes a frame before the call returns. */
function canceledBytes(task: string): string {
  return `id: 2305843009213693951\nevent: status\ndata: {"id":"${task}","status":{"state":"canceled","message":"task canceled before it started"},"final":true}\n\n`;
}

describe('frames published in the turn of the event loop in which a reader comes', () => {
  it('reach it once, by the replay, while they are still on their way to the others [D1-STREAM-25]', async () => {
    const door = await openDoor();
    const other = await door.watch();
    const task = door.fixture.session.board.submit({ text: 'a', origin: 'user', trust: 'trusted' }).task.id;
    const reader = await door.connect();
    // Both arrive in one piece: the cancellation's frame is published, then the stream is asked for, before anything is sent on.
    reader.send(`${callBytes('tasks/cancel', { id: task })}${callBytes('stream/watch', {})}`);
    await reader.until(canceledBytes(task));
    door.text(1n);
    await reader.until(textBytes(1));
    await other.until(textBytes(1));
    const answer = reader.body.slice(0, reader.body.indexOf('HTTP/1.1 200 OK'));
    expect(answer).toContain('"state":"canceled"');
    const streamed = reader.body.slice(reader.body.indexOf('\r\n\r\n') + 4);
    expect(streamed).toBe(
      [ack, 'event: gap\ndata: {"first_available_id":2305843009213693951}\n\n', canceledBytes(task), textBytes(1)].join(
        '',
      ),
    );
    expect(other.body).toBe([ack, canceledBytes(task), textBytes(1)].join(''));
  });

  it('close no message/stream that comes behind a final status, replayed or not [D1-STREAM-18]', async () => {
    for (const headers of [[], ['Last-Event-ID: 2305843009213693950']]) {
      const door = await openDoor();
      const other = await door.watch();
      const task = door.fixture.session.board.submit({ text: 'a', origin: 'user', trust: 'trusted' }).task.id;
      const reader = await door.connect();
      reader.send(`${callBytes('tasks/cancel', { id: task })}${callBytes('message/stream', hello, headers)}`);
      await other.until(canceledBytes(task));
      door.text(1n);
      await reader.until(textBytes(1));
      const streamed = reader.body.slice(reader.body.indexOf('\r\n\r\n') + 4);
      expect(streamed).toBe(`${headers.length === 0 ? '' : canceledBytes(task)}${textBytes(1)}`);
      expect(reader.ended).toBe(false);
    }
  });

  it('reach a message/stream when they are published while its task is handed over [D1-STREAM-22]', async () => {
    const publish: (() => void)[] = [];
    const onCompletion = (): void => {
      for (const each of publish) each();
    };
    const door = await openDoor({ onCompletion });
    const other = await door.watch();
    door.text(1n);
    publish.push(() => door.text(2n));
    const reader = await door.call('message/stream', hello, [
      'Last-Event-ID: 0',
      'x-svc-task-origin: completion',
      `x-svc-completion-session: ${door.fixture.session.id}`,
      'x-svc-delegation-id: dlg_1',
    ]);
    await reader.until(textBytes(2));
    door.completed(3n);
    expect((await reader.untilClosed()).body).toBe([textBytes(1), textBytes(2), completedBytes(3)].join(''));
    await other.until(completedBytes(3));
    expect(other.body).toBe([ack, textBytes(1), textBytes(2), completedBytes(3)].join(''));
  });

  it('reach a reader whose long replay was taken at once, however many they are', async () => {
    const publish: (() => void)[] = [];
    const onCompletion = (): void => {
      for (const each of publish) each();
    };
    const door = await openDoor({ onCompletion });
    const text = 'x'.repeat(100);
    for (let id = 1n; id <= 512n; id += 1n) door.text(id, text);
    publish.push(() => {
      for (let id = 513n; id <= 1000n; id += 1n) door.text(id);
    });
    const reader = await door.call('message/stream', hello, [
      'Last-Event-ID: 0',
      'x-svc-task-origin: completion',
      `x-svc-completion-session: ${door.fixture.session.id}`,
      'x-svc-delegation-id: dlg_1',
    ]);
    await reader.until(textBytes(1000));
    expect(reader.ids).toEqual(Array.from({ length: 1000 }, (_, index) => `${index + 1}`));
  });
});
