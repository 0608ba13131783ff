import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { describe, expect, it } from 'vitest';

import type { ContextId } from '@svc/protocol/ids.ts';
import { hello, taskId, useStreamDoors } from './stream-door.ts';

const openDoor = useStreamDoors();

/** What a standard parser makes of a body that it gets in pieces of `size` characters. */
function parsed(body: string, size: number): { messages: EventSourceMessage[]; comments: string[] } {
  const messages: EventSourceMessage[] = [];
  const comments: string[] = [];
  const parser = createParser({
    onEvent: (message) => messages.push(message),
    onComment: (comment) => comments.push(comment),
    onError: (error) => {
      throw error;
    },
  });
  for (let at = 0; at < body.length; at += size) parser.feed(body.slice(at, at + size));
  return { messages, comments };
}

const id = 'tsk_0190a1b2c3d4e5f60718293a4b5c6d7e';

describe('a standard parser of server-sent events', () => {
  it('reads every frame of stream/watch, ids as text, the heartbeat as a comment [D1-FRAME-01, D1-FRAME-02, D1-FRAME-03, D1-FRAME-04, D1-FRAME-05]', async () => {
    const door = await openDoor({ conversationMode: 'threaded' });
    const { stream } = door.fixture;
    const contextId = 'ctx_0190a1b2c3d4e5f60718293a4b5c6d7f' as ContextId;
    stream.publish(9223372036854775807n, {
      event: 'status',
      taskId,
      contextId,
      state: 'input-required',
      message: 'Which?\nA: or B',
      final: false,
    });
    const reader = await door.watch();
    const text = 'a\r\nb\n\nid: 5\ndata: \u2028\u2029\u0000\ufeff é 漢 😀 \ud800';
    stream.publish(4611686018427387904n, { event: 'text', taskId, text, final: false });
    stream.publish(18446744073709551615n, { event: 'thinking', taskId, text: ':hm' });
    stream.publish(2n, {
      event: 'artifact',
      taskId,
      toolName: 'notes',
      content: '\n\n',
      fenceSource: null,
      toolCallId: null,
      isError: true,
      durationMs: 3,
      exitCode: -1,
      truncated: false,
    });
    await reader.until('id: 2\n');
    door.fixture.clock.advance(15_000);
    await reader.until(':heartbeat');
    const failed = { event: 'status', taskId, state: 'failed', message: 'session ended', final: true } as const;
    stream.publish(3n, { ...failed, response: 'error: \n' });
    stream.end();
    await reader.untilClosed();
    const expected = [
      [undefined, 'connection-ack', { role: 'observer', conversation_mode: 'threaded' }],
      [undefined, 'gap', { first_available_id: 2 ** 63 }],
      [
        '9223372036854775807',
        'status',
        { id, context_id: contextId, status: { state: 'input-required', message: 'Which?\nA: or B' }, final: false },
      ],
      ['4611686018427387904', 'text', { id, text, final: false }],
      ['18446744073709551615', 'thinking', { id, text: ':hm', final: false }],
      [
        '2',
        'artifact',
        {
          id,
          artifact: {
            tool_name: 'notes',
            content: '\n\n',
            fence_source: null,
            tool_call_id: null,
            is_error: true,
            duration_ms: 3,
            exit_code: -1,
            truncated: false,
          },
        },
      ],
      [
        '3',
        'status',
        { id, status: { state: 'failed', message: 'session ended', response: 'error: \n' }, final: true },
      ],
      [undefined, 'capsule-closed', {}],
    ];
    for (const size of [1, 2, 7, 1_000_000]) {
      const { messages, comments } = parsed(reader.body, size);
      expect(messages.map((message) => [message.id, message.event, JSON.parse(message.data)])).toEqual(expected);
      expect(comments).toEqual(['heartbeat']);
    }
    expect(reader.body).not.toContain('\r');
    expect(reader.body).toContain('data: {"first_available_id":9223372036854775807}\n\n');
  });

  it('reads the frames that message/stream alone writes [D1-FRAME-06, D1-FRAME-49, D1-FRAME-50, D1-FRAME-54]', async () => {
    const door = await openDoor({ acceptance: { queueDepth: 0 } });
    const wrong = await door.call('message/stream', {});
    expect(parsed((await wrong.untilClosed()).body, 5).messages).toEqual([
      { id: undefined, event: 'error', data: '{"error":"Invalid params: messageId must be a string"}' },
    ]);
    await door.submit();
    const rejected = await door.call('message/stream', hello);
    expect(parsed((await rejected.untilClosed()).body, 5).messages).toEqual([
      {
        id: '0',
        event: 'status',
        data: expect.stringMatching(
          /^\{"id":"tsk_[0-9a-f]{32}","status":\{"state":"rejected","message":"task rejected: capsule is busy"\},"final":true\}$/,
        ),
      },
    ]);
  });
});
