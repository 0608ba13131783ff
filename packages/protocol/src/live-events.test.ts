import { describe, expect, it } from 'vitest';

import { encodeLiveEvent, type LiveEvent } from './live-events.ts';

const taskId = 'tsk_0190a1b2c3d4e5f60718293a4b5c6d7e';
const call = { taskId, turn: 2, callId: 'call_1', toolName: 'git' };

describe('a live event is written without an id as', () => {
  const cases: readonly (readonly [LiveEvent, string])[] = [
    [
      {
        event: 'snapshot',
        sessionId: 'ses_1',
        name: 'painter',
        version: '1.0.0',
        model: 'm',
        containment: 'sealed',
        methods: ['tasks/answer'],
        usage: { inputTokens: 7, outputTokens: 3 },
        tasks: [
          {
            taskId,
            contextId: 'house',
            state: 'input-required',
            origin: 'peer',
            text: 'Paint',
            question: { taskId, waitId: 'q1', prompt: 'Which?' },
          },
          { taskId: 'tsk_2', contextId: 'ctx_2', state: 'submitted', origin: 'message', text: '', question: null },
        ],
        tasksLeftOut: 4,
      },
      'event: snapshot\ndata: {"session_id":"ses_1","name":"painter","version":"1.0.0","model":"m","containment":"sealed","methods":["tasks/answer"],"usage":{"input_tokens":7,"output_tokens":3},"tasks":[{"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","context_id":"house","state":"input-required","origin":"peer","text":"Paint","question":{"wait_id":"q1","prompt":"Which?"}},{"task_id":"tsk_2","context_id":"ctx_2","state":"submitted","origin":"message","text":"","question":null}],"tasks_left_out":4}\n\n',
    ],
    [
      {
        event: 'task_received',
        taskId,
        contextId: 'house',
        origin: 'message',
        principal: 'local',
        text: 'Paint\nit.',
        textCut: false,
        queued: 2,
      },
      'event: task_received\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","context_id":"house","origin":"message","principal":"local","text":"Paint\\nit.","text_cut":false,"queued":2}\n\n',
    ],
    [
      { event: 'task_started', taskId, attempt: 1 },
      'event: task_started\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","attempt":1}\n\n',
    ],
    [
      { event: 'waiting_for_model', taskId, turn: 1 },
      'event: waiting_for_model\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","turn":1}\n\n',
    ],
    [
      { event: 'retry', taskId, turn: 1, reason: '429', wait: null },
      'event: retry\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","turn":1,"reason":"429"}\n\n',
    ],
    [
      {
        event: 'usage',
        taskId,
        turn: 1,
        model: 'm',
        inputTokens: 5,
        outputTokens: 6,
        durationMs: 70,
        total: { inputTokens: 8, outputTokens: 9 },
      },
      'event: usage\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","turn":1,"model":"m","input_tokens":5,"output_tokens":6,"duration_ms":70,"total":{"input_tokens":8,"output_tokens":9}}\n\n',
    ],
    [
      { event: 'call_start', ...call, arguments: { command: 'log -1' }, argumentsText: null },
      'event: call_start\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","turn":2,"call_id":"call_1","tool_name":"git","arguments":{"command":"log -1"}}\n\n',
    ],
    [
      { event: 'call_start', ...call, callId: null, arguments: null, argumentsText: '{"command":"lo' },
      'event: call_start\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","turn":2,"call_id":null,"tool_name":"git","arguments_text":"{\\"command\\":\\"lo"}\n\n',
    ],
    [
      { event: 'retry', taskId, turn: 1, reason: '429', wait: { status: 429, waitMs: 500, attempt: 1, of: 3 } },
      'event: retry\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","turn":1,"reason":"429","status":429,"wait_ms":500,"attempt":1,"of":3}\n\n',
    ],
    [
      { event: 'output', ...call, text: 'ok 1\nok 2\n', leftOut: 7 },
      'event: output\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","turn":2,"call_id":"call_1","tool_name":"git","text":"ok 1\\nok 2\\n","left_out":7}\n\n',
    ],
    [
      { event: 'call_end', ...call, exitCode: 2, isError: false, denied: false, durationMs: 12, step: 3 },
      'event: call_end\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","turn":2,"call_id":"call_1","tool_name":"git","exit_code":2,"is_error":false,"denied":false,"duration_ms":12,"step":3}\n\n',
    ],
    [
      { event: 'refusal', taskId, what: 'git', reason: 'not today' },
      'event: refusal\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","what":"git","reason":"not today"}\n\n',
    ],
    [
      { event: 'question', taskId, waitId: 'q1', prompt: 'Which?' },
      'event: question\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","wait_id":"q1","prompt":"Which?"}\n\n',
    ],
    [
      { event: 'question_settled', taskId, waitId: 'q1', end: 'timed-out', answer: null },
      'event: question_settled\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","wait_id":"q1","end":"timed-out","answer":null}\n\n',
    ],
    [
      { event: 'question_settled', taskId, waitId: 'q2', end: 'answered', answer: 'Blue.' },
      'event: question_settled\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","wait_id":"q2","end":"answered","answer":"Blue."}\n\n',
    ],
    [
      {
        event: 'task_settled',
        taskId,
        state: 'failed',
        reason: 'no model',
        turns: 1,
        usage: { inputTokens: 0, outputTokens: 0 },
        durationMs: 5,
      },
      'event: task_settled\ndata: {"task_id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","state":"failed","reason":"no model","turns":1,"usage":{"input_tokens":0,"output_tokens":0},"duration_ms":5}\n\n',
    ],
  ];

  it.each(cases)('$event', (event, written) => {
    expect(encodeLiveEvent(event)).toBe(written);
  });
});
