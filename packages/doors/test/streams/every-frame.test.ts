import { describe, expect, it } from 'vitest';

import type { EventId, NumberedFrame } from '@svc/protocol/frames.ts';
import type { ContextId } from '@svc/protocol/ids.ts';
import { ack, taskId, useStreamDoors } from './stream-door.ts';

const openDoor = useStreamDoors();

const contextId = 'ctx_0190a1b2c3d4e5f60718293a4b5c6d7f' as ContextId;
const artifact = { event: 'artifact', taskId, toolName: 'notes' } as const;

/** Every frame that carries an id, and its bytes. */
const frames: readonly (readonly [EventId, NumberedFrame, string])[] = [
  [
    0n,
    { event: 'status', taskId, state: 'working', message: 'inference turn 1', final: false },
    'id: 0\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","status":{"state":"working","message":"inference turn 1"},"final":false}\n\n',
  ],
  [
    1n,
    { event: 'thinking', taskId, text: 'Hm.' },
    'id: 1\nevent: thinking\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","text":"Hm.","final":false}\n\n',
  ],
  [
    2n,
    { event: 'text', taskId, text: 'Three\n"é"', final: false },
    'id: 2\nevent: text\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","text":"Three\\n\\"é\\"","final":false}\n\n',
  ],
  [
    3n,
    { event: 'text', taskId, text: '', final: true },
    'id: 3\nevent: text\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","text":"","final":true}\n\n',
  ],
  [
    9223372036854775807n,
    { event: 'status', taskId, contextId, state: 'input-required', message: 'Which?', final: false },
    'id: 9223372036854775807\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","context_id":"ctx_0190a1b2c3d4e5f60718293a4b5c6d7f","status":{"state":"input-required","message":"Which?"},"final":false}\n\n',
  ],
  [
    9223372036854775808n,
    { event: 'status', taskId, contextId, state: 'failed', message: 'input-timeout', final: false },
    'id: 9223372036854775808\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","context_id":"ctx_0190a1b2c3d4e5f60718293a4b5c6d7f","status":{"state":"failed","message":"input-timeout"},"final":false}\n\n',
  ],
  [
    4n,
    {
      ...artifact,
      content: 'ok',
      fenceSource: 'tool:notes',
      toolCallId: 'call_1',
      isError: false,
      durationMs: 12,
      exitCode: -2147483648,
      truncated: true,
    },
    'id: 4\nevent: artifact\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","artifact":{"tool_name":"notes","content":"ok","fence_source":"tool:notes","tool_call_id":"call_1","is_error":false,"duration_ms":12,"exit_code":-2147483648,"truncated":true}}\n\n',
  ],
  [
    18446744073709551615n,
    {
      ...artifact,
      content: '',
      fenceSource: null,
      toolCallId: null,
      isError: true,
      durationMs: null,
      exitCode: null,
      truncated: false,
    },
    'id: 18446744073709551615\nevent: artifact\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","artifact":{"tool_name":"notes","content":"","fence_source":null,"tool_call_id":null,"is_error":true,"duration_ms":null,"exit_code":null,"truncated":false}}\n\n',
  ],
  [
    5n,
    { event: 'status', taskId, state: 'failed', message: 'session ended', response: 'error: no', final: true },
    'id: 5\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","status":{"state":"failed","message":"session ended","response":"error: no"},"final":true}\n\n',
  ],
];

describe('every frame that carries an id', () => {
  it('goes live to both streams, byte for byte, and returns in a replay with the same bytes [D1-FRAME-02, D1-FRAME-06, D1-FRAME-53, D1-FRAME-55, D1-STREAM-12]', async () => {
    const door = await openDoor();
    const watcher = await door.watch();
    const stream = await door.submit();
    for (const [id, frame] of frames) door.fixture.stream.publish(id, frame);
    const bytes = frames.map(([, , written]) => written);
    const all = bytes.join('');
    await watcher.until(all);
    expect(watcher.body).toBe(`${ack}${all}`);
    expect((await stream.untilClosed()).body).toBe(all);
    const late = await door.watch();
    await late.until(bytes.at(-1) ?? '');
    expect(late.body).toBe(`${ack}${bytes.slice(1).join('')}`);
  });
});
