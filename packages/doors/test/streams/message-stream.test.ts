import { describe, expect, it } from 'vitest';

import { JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import { says } from '../../../../test/support/fake-driver.ts';
import { completedBytes, hello, textBytes, useStreamDoors, type StreamDoor } from './stream-door.ts';

const openDoor = useStreamDoors();

const invalid = 'event: error\ndata: {"error":"Invalid params: messageId must be a string"}\n\n';
const queueSendFailed = 'event: error\ndata: {"error":"internal error: queue send failed"}\n\n';
const rejected =
  /^id: 0\nevent: status\ndata: \{"id":"tsk_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}","status":\{"state":"rejected","message":"task rejected: capsule is busy"\},"final":true\}\n\n$/;

/** The whole body of a `message/stream` that closes by itself. */
async function bodyOf(door: StreamDoor, params: unknown, headers: readonly string[] = []): Promise<string> {
  const reader = await door.call('message/stream', params, headers);
  return (await reader.untilClosed()).body;
}

describe('message/stream', () => {
  it.each([
    ['under params.message', hello],
    ['as params itself', hello.message],
  ])(
    'takes a message %s and streams its task to the final status [D1-CARD-15, D1-STREAM-01, D1-STREAM-22]',
    async (_name, params) => {
      const door = await openDoor({ turns: [says('Hi.')] });
      void door.fixture.session.run();
      const body = await bodyOf(door, params);
      const task = door.fixture.frames[0]?.data['id'] as string;
      expect(task).toMatch(/^tsk_/);
      expect(body).toBe(
        [
          `id: 0\nevent: status\ndata: {"id":"${task}","status":{"state":"working","message":"inference turn 1"},"final":false}\n\n`,
          `id: 1\nevent: text\ndata: {"id":"${task}","text":"Hi.","final":true}\n\n`,
          `id: 2\nevent: status\ndata: {"id":"${task}","status":{"state":"completed","message":"session ended"},"final":true}\n\n`,
        ].join(''),
      );
    },
  );

  it('keeps the context of the message, and mints one without it [D1-STREAM-02]', async () => {
    const door = await openDoor({ acceptance: { queueDepth: 5 } });
    await door.call('message/stream', { ...hello.message, contextId: 'ctx_mine' }).then((reader) => reader.untilHead());
    await door.submit();
    expect(door.fixture.traced).toMatchObject([
      { text: 'Hello.', context_id: 'ctx_mine', origin: 'message' },
      { text: 'Hello.', context_id: expect.stringMatching(/^ctx_[0-9a-f]{32}$/), origin: 'message' },
    ]);
  });

  it.each([
    [undefined, 'params must be an object'],
    [null, 'params must be an object'],
    [[], 'params must be an object'],
    ['x', 'params must be an object'],
    [{}, 'messageId must be a string'],
    [{ message: null }, 'message must be an object'],
    [{ message: [hello.message] }, 'message must be an object'],
    [{ message: {} }, 'message.messageId must be a string'],
    [{ message: { ...hello.message, messageId: 7 } }, 'message.messageId must be a string'],
    [{ ...hello.message, role: undefined }, 'role must be a string'],
    [{ message: { ...hello.message, role: null } }, 'message.role must be a string'],
    [{ message: { ...hello.message, parts: undefined } }, 'message.parts must be an array'],
    [{ message: { ...hello.message, parts: 'Hello' } }, 'message.parts must be an array'],
    [{ message: { ...hello.message, parts: [] } }, 'message.parts must hold at least one part'],
    [{ message: { ...hello.message, parts: ['Hello'] } }, 'message.parts[0] must be an object'],
    [{ message: { ...hello.message, parts: [{ text: 'a' }, {}] } }, 'message.parts[1].text must be a string'],
    [{ message: { ...hello.message, parts: [{ text: 5 }] } }, 'message.parts[0].text must be a string'],
    [{ message: { ...hello.message, contextId: 5 } }, 'message.contextId must be a string'],
    [{ message: { ...hello.message, contextId: '' } }, 'message.contextId must not be empty'],
  ])(
    'answers %j with one error frame and closes [D1-STREAM-02, D1-STREAM-04, D1-STREAM-19, D1-FRAME-49, D1-FRAME-50]',
    async (params, problem) => {
      const door = await openDoor();
      expect(await bodyOf(door, params)).toBe(`event: error\ndata: {"error":"Invalid params: ${problem}"}\n\n`);
      expect(door.fixture.traced).toEqual([]);
    },
  );

  it('repeats nothing of what was sent in an error', async () => {
    const door = await openDoor();
    const params = { message: { messageId: '"}\n\nevent: status', role: { '"\r\n': 1 }, parts: 5 } };
    expect(await bodyOf(door, params)).toBe(
      'event: error\ndata: {"error":"Invalid params: message.role must be a string"}\n\n',
    );
  });

  it('writes the text of an error as it is, so that its data may be no JSON [D1-FRAME-51]', async () => {
    const onCompletion = (): never => {
      throw new JsonRpcFault('completion-refused', 'no "delegation" of\\that name\nis open');
    };
    const door = await openDoor({ onCompletion });
    const body = await bodyOf(door, hello, [
      'x-svc-task-origin: completion',
      `x-svc-completion-session: ${door.fixture.session.id}`,
      'x-svc-delegation-id: dlg_1',
    ]);
    const data = '{"error":"Invalid params: no "delegation" of\\that name is open"}';
    expect(body).toBe(`event: error\ndata: ${data}\n\n`);
    expect(() => JSON.parse(data) as unknown).toThrow(SyntaxError);
  });

  it('writes a completion that is refused as an error frame', async () => {
    const door = await openDoor();
    const headers = ['x-svc-task-origin: completion', 'x-svc-completion-session: ses_other'];
    expect(await bodyOf(door, hello, headers)).toBe(
      'event: error\ndata: {"error":"Invalid params: The completion is addressed to a session that is not the one running"}\n\n',
    );
  });

  it('rejects a task there is no room for with id 0, to its submitter alone, and closes [D1-STATE-16, D1-STATE-17, D1-STREAM-04, D1-STREAM-20, D1-FRAME-54]', async () => {
    const door = await openDoor({ acceptance: { queueDepth: 0 } });
    const first = await door.submit();
    expect(await bodyOf(door, hello)).toMatch(rejected);
    expect(door.fixture.stream.replayFrom(0n)).toEqual({ gap: null, frames: [] });
    expect(first.ended).toBe(false);
    expect(first.body).toBe('');
  });

  it('looks at the params before it looks for room [D1-STREAM-19]', async () => {
    const door = await openDoor({ acceptance: { queueDepth: 0 } });
    await door.submit();
    expect(await bodyOf(door, { role: 'user' })).toBe(invalid);
  });

  it('replays before it says that the params are wrong [D1-STREAM-17, D1-STREAM-19, D1-REPLAY-04]', async () => {
    const door = await openDoor();
    for (const id of [1n, 2n]) door.text(id);
    expect(await bodyOf(door, { role: 'user' }, ['Last-Event-ID: 0'])).toBe(
      [textBytes(1), textBytes(2), invalid].join(''),
    );
  });

  it('replays, with a gap frame where one applies, before it rejects [D1-STREAM-17, D1-STREAM-20, D1-REPLAY-04, D1-FRAME-56]', async () => {
    const door = await openDoor({ acceptance: { queueDepth: 0 } });
    await door.submit();
    for (const id of [7n, 8n]) door.text(id);
    const body = await bodyOf(door, hello, ['Last-Event-ID: 2']);
    const replay = ['event: gap\ndata: {"first_available_id":7}\n\n', textBytes(7), textBytes(8)].join('');
    expect(body.slice(0, replay.length)).toBe(replay);
    expect(body.slice(replay.length)).toMatch(rejected);
  });

  it('replays nothing and writes no gap without the header [D1-REPLAY-05, D1-FRAME-56]', async () => {
    const door = await openDoor();
    for (const id of [7n, 8n]) door.text(id);
    const reader = await door.submit();
    door.completed(9n);
    expect((await reader.untilClosed()).body).toBe(completedBytes(9));
  });

  it('stays open after a replayed final status, and ends after a live one [D1-STREAM-03, D1-STREAM-18]', async () => {
    const door = await openDoor();
    door.completed(1n);
    door.text(2n);
    const reader = await door.submit(['Last-Event-ID: 0']);
    await reader.until(textBytes(2));
    door.text(3n);
    await reader.until(textBytes(3));
    expect(reader.ended).toBe(false);
    door.completed(4n);
    expect((await reader.untilClosed()).body).toBe(
      [completedBytes(1), textBytes(2), textBytes(3), completedBytes(4)].join(''),
    );
  });

  it.each(['failed', 'canceled'] as const)(
    'closes on a final status %s too, of whatever task, and writes nothing behind it [D1-STREAM-03, D1-STREAM-13]',
    async (state) => {
      const door = await openDoor();
      const readers = [await door.submit(), await door.submit()];
      const watcher = await door.watch();
      door.text(1n);
      door.fixture.stream.publish(2n, {
        event: 'status',
        taskId: 'tsk_0190a1b2c3d4e5f60718293a4b5c6d80' as never,
        state,
        message: 'session ended',
        final: true,
      });
      door.text(3n);
      const final = `id: 2\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d80","status":{"state":"${state}","message":"session ended"},"final":true}\n\n`;
      for (const reader of readers) expect((await reader.untilClosed()).body).toBe(`${textBytes(1)}${final}`);
      await watcher.until(textBytes(3));
      expect(door.fixture.traced).toHaveLength(2);
    },
  );

  it('carries the result text on a final status that is failed, and on no other frame [D1-FRAME-11, D1-FRAME-12]', async () => {
    const door = await openDoor({ turns: [{ kind: 'failed', error: 'no "model"' }] });
    void door.fixture.session.run();
    const body = await bodyOf(door, hello);
    const task = door.fixture.frames[0]?.data['id'] as string;
    expect(door.fixture.results).toEqual(['error: no "model"']);
    expect(body).toBe(
      [
        `id: 0\nevent: status\ndata: {"id":"${task}","status":{"state":"working","message":"inference turn 1"},"final":false}\n\n`,
        `id: 1\nevent: status\ndata: {"id":"${task}","status":{"state":"failed","message":"session ended","response":"error: no \\"model\\""},"final":true}\n\n`,
      ].join(''),
    );
  });

  it('stays open after statuses that are not final, and after the final mark of a text [D1-STREAM-03]', async () => {
    const door = await openDoor();
    const reader = await door.submit();
    const task = { event: 'status', taskId: 'tsk_1' as never, final: false } as const;
    const { stream } = door.fixture;
    stream.publish(1n, { ...task, contextId: 'ctx_1' as never, state: 'failed', message: 'input-timeout' });
    stream.publish(2n, { event: 'text', taskId: 'tsk_1' as never, text: 'All.', final: true });
    stream.publish(3n, { ...task, state: 'working', message: 'inference turn 2' });
    await reader.until('inference turn 2');
    expect(reader.ids).toEqual(['1', '2', '3']);
    expect(reader.ended).toBe(false);
  });

  it('says so when the trace fails, so that the task cannot be handed to the queue [D1-STREAM-21, D1-FRAME-50]', async () => {
    const door = await openDoor({ traceFailsAt: 'task_received' });
    door.text(1n);
    expect(await bodyOf(door, hello, ['Last-Event-ID: 0'])).toBe(`${textBytes(1)}${queueSendFailed}`);
    expect((await door.fixture.session.run()).status).toBe('trapped');
  });

  it('says so when the session takes no task any more [D1-STREAM-21]', async () => {
    const door = await openDoor();
    await door.fixture.session.shutDown();
    expect(await bodyOf(door, hello)).toBe(queueSendFailed);
  });

  it('says so also when the stream of the capsule has ended [D1-STREAM-21]', async () => {
    const door = await openDoor();
    door.text(1n);
    await door.fixture.session.shutDown();
    door.fixture.stream.end();
    expect(await bodyOf(door, hello)).toBe(queueSendFailed);
    expect(await bodyOf(door, { role: 'user' }, ['Last-Event-ID: 0'])).toBe(`${textBytes(1)}${invalid}`);
  });

  it('closes without a frame of its own when the capsule ends its stream [D1-FRAME-58]', async () => {
    const door = await openDoor();
    const reader = await door.submit();
    door.text(1n);
    door.fixture.stream.end();
    expect((await reader.untilClosed()).body).toBe(textBytes(1));
  });
});
