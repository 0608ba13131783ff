import { describe, expect, it } from 'vitest';

import { encodeConnectionFrame, encodeNumberedFrame, heartbeat, parseLastEventId } from './frames.ts';
import type { ContextId, TaskId } from './ids.ts';

const taskId = 'tsk_0190a1b2c3d4e5f60718293a4b5c6d7e' as TaskId;
const contextId = 'ctx_0190a1b2c3d4e5f60718293a4b5c6d7f' as ContextId;

describe('a numbered frame', () => {
  it('writes id, event and data, ended by a blank line, with line feeds alone [D1-FRAME-01, D1-FRAME-02, D1-FRAME-03, D1-FRAME-04, D1-FRAME-06]', () => {
    const frame = { event: 'status', taskId, state: 'working', message: 'inference turn 1', final: false } as const;
    expect(encodeNumberedFrame(0n, frame)).toBe(
      'id: 0\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","status":{"state":"working","message":"inference turn 1"},"final":false}\n\n',
    );
  });

  it('carries the context id on the frames of an input wait alone [D1-FRAME-08]', () => {
    const frame = { event: 'status', taskId, contextId, state: 'working', message: 'resumed', final: false } as const;
    expect(encodeNumberedFrame(9223372036854775808n, frame)).toBe(
      'id: 9223372036854775808\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","context_id":"ctx_0190a1b2c3d4e5f60718293a4b5c6d7f","status":{"state":"working","message":"resumed"},"final":false}\n\n',
    );
  });

  it.each([
    ['working', false],
    ['completed', true],
    ['failed', true],
    ['canceled', true],
  ] as const)(
    'writes the state %s with its message and final mark, and nothing else [D1-FRAME-07, D1-FRAME-08, D1-FRAME-10, D1-FRAME-12, D1-FRAME-13]',
    (state, final) => {
      const frame = { event: 'status', taskId, state, message: 'as "it" is', final } as const;
      expect(encodeNumberedFrame(2n, frame)).toBe(
        `id: 2\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","status":{"state":"${state}","message":"as \\"it\\" is"},"final":${final}}\n\n`,
      );
    },
  );

  it.each([
    ['input-required', 'Which?\nOne.', 'Which?\\nOne.'],
    ['failed', 'input-timeout', 'input-timeout'],
  ] as const)(
    'writes %s of an input wait with its context, never final [D1-FRAME-08, D1-FRAME-13]',
    (state, message, written) => {
      const frame = { event: 'status', taskId, contextId, state, message, final: false } as const;
      expect(encodeNumberedFrame(9223372036854775807n, frame)).toBe(
        `id: 9223372036854775807\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","context_id":"ctx_0190a1b2c3d4e5f60718293a4b5c6d7f","status":{"state":"${state}","message":"${written}"},"final":false}\n\n`,
      );
    },
  );

  it('carries the result text of a failed task [D1-FRAME-11]', () => {
    const status = { event: 'status', taskId, state: 'failed', message: 'session ended', final: true } as const;
    expect(encodeNumberedFrame(7n, { ...status, response: 'error: no' })).toContain(
      '"status":{"state":"failed","message":"session ended","response":"error: no"},"final":true}',
    );
  });

  it('writes every key of an artifact, inapplicable ones as null [D1-FRAME-17, D1-FRAME-18, D1-FRAME-33]', () => {
    const frame = {
      event: 'artifact',
      taskId,
      toolName: 'notes',
      content: 'one\ntwo',
      fenceSource: null,
      toolCallId: null,
      isError: false,
      durationMs: null,
      exitCode: null,
      truncated: false,
    } as const;
    expect(encodeNumberedFrame(3n, frame)).toBe(
      'id: 3\nevent: artifact\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","artifact":{"tool_name":"notes","content":"one\\ntwo","fence_source":null,"tool_call_id":null,"is_error":false,"duration_ms":null,"exit_code":null,"truncated":false}}\n\n',
    );
  });

  it('keeps text with line ends and separators on one data line [D1-FRAME-04, D1-FRAME-35]', () => {
    const text = 'a\r\nb\u2028c';
    const bytes = encodeNumberedFrame(4611686018427387903n, { event: 'text', taskId, text, final: false });
    expect(bytes.split('\n')).toHaveLength(5);
    expect(bytes).toBe(
      'id: 4611686018427387903\nevent: text\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","text":"a\\r\\nb\u2028c","final":false}\n\n',
    );
  });

  it('never marks thinking as final [D1-FRAME-40]', () => {
    expect(encodeNumberedFrame(1n, { event: 'thinking', taskId, text: 'hm' })).toBe(
      'id: 1\nevent: thinking\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","text":"hm","final":false}\n\n',
    );
  });
});

describe('a frame of one connection', () => {
  it('rejects with id 0 [D1-ID-05]', () => {
    expect(encodeConnectionFrame({ event: 'rejected', taskId })).toBe(
      'id: 0\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","status":{"state":"rejected","message":"task rejected: capsule is busy"},"final":true}\n\n',
    );
  });

  it('has no id otherwise [D1-BEAT-01, D1-BEAT-03, D1-FRAME-06, D1-FRAME-41, D1-FRAME-42, D1-FRAME-44, D1-FRAME-45, D1-FRAME-47]', () => {
    expect(encodeConnectionFrame({ event: 'gap', firstAvailableId: 18446744073709551615n })).toBe(
      'event: gap\ndata: {"first_available_id":18446744073709551615}\n\n',
    );
    expect(encodeConnectionFrame({ event: 'connection-ack', conversationMode: 'threaded' })).toBe(
      'event: connection-ack\ndata: {"role":"observer","conversation_mode":"threaded"}\n\n',
    );
    expect(encodeConnectionFrame({ event: 'capsule-closed' })).toBe('event: capsule-closed\ndata: {}\n\n');
    expect(encodeConnectionFrame({ event: 'error', error: 'internal error: queue send failed' })).toBe(
      'event: error\ndata: {"error":"internal error: queue send failed"}\n\n',
    );
    expect(heartbeat).toBe(':heartbeat\n\n');
  });

  it('puts an error into the data as it is, so that this may be no JSON, on one line [D1-FRAME-50]', () => {
    expect(encodeConnectionFrame({ event: 'error', error: 'Invalid params: "parts"\nis missing' })).toBe(
      'event: error\ndata: {"error":"Invalid params: "parts" is missing"}\n\n',
    );
    expect(encodeConnectionFrame({ event: 'error', error: 'a\\b\r\n\r\nid: 5' })).toBe(
      'event: error\ndata: {"error":"a\\b id: 5"}\n\n',
    );
  });
});

describe('a Last-Event-ID header', () => {
  it.each([
    ['0', 0n],
    ['000', 0n],
    ['9223372036854775808', 9223372036854775808n],
    ['18446744073709551615', 18446744073709551615n],
    ['00000000000000000000000000018446744073709551615', 18446744073709551615n],
    ['0016', 16n],
    ['9007199254740993', 9007199254740993n],
  ])('%s is a number', (header, id) => {
    expect(parseLastEventId(header)).toBe(id);
  });

  it.each([
    '',
    'abc',
    '-1',
    '+1',
    '1e3',
    '1.0',
    '0x10',
    ' 1',
    '1 ',
    '1, 2',
    '1_0',
    '1n',
    '\u0661',
    '\uff11',
    '\u00b9',
    '1\n',
    '18446744073709551616',
    '99999999999999999999',
    '9'.repeat(100),
  ])('cannot be %j', (header) => {
    expect(parseLastEventId(header)).toBeUndefined();
  });

  it('gives an event id of any length', () => {
    expect(parseLastEventId(`${'0'.repeat(1_000_000)}7`)).toBe(7n);
    expect(parseLastEventId(`${'0'.repeat(1_000_000)}x`)).toBeUndefined();
    expect(parseLastEventId('9'.repeat(1_000_000))).toBeUndefined();
  });

  it('gives no event id when absent', () => {
    expect(parseLastEventId(undefined)).toBeUndefined();
  });
});
