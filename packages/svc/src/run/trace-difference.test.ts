import { describe, expect, it } from 'vitest';

import type { TraceEvent } from '@svc/record/trace/events.ts';
import { firstTraceDifference, type TraceLine } from './trace-difference.ts';

const own = { event_id: 'evt_1', parent_id: null, session_id: 'ses_1', timestamp: 7 };
const task = { task_id: 'tsk_1', turn: 1 };
const usage = { input_tokens: 9, output_tokens: 1 };
const inference = {
  event_type: 'inference',
  ...task,
  model: 'm',
  outcome: 'response',
  stop_reason: 'end_turn',
  usage,
} as const;
const call = {
  event_type: 'skill_call',
  ...task,
  tool_call_id: null,
  arguments: {},
  is_error: false,
  skill_name: 's',
} as const;

function traced(line: object): TraceLine {
  return { line: Buffer.from(JSON.stringify({ ...line, ...own })), isWhole: true };
}

function differenceOf(lines: readonly object[], replayed: readonly TraceEvent[]): unknown {
  return firstTraceDifference(lines.map(traced), replayed);
}

describe('the trace of a session and that of its replay', () => {
  const replayed: readonly TraceEvent[] = [
    { ...inference, start_ms: 5000, ttfb_ms: 0, duration_ms: 0 },
    { ...call, content_bytes: 3, start_ms: 5001, duration_ms: 0 },
  ];

  it('agree where the session is older and had no such times', () => {
    const lines = [
      { ...inference, duration_ms: 12 },
      { ...call, content_bytes: 3, duration_ms: 1 },
    ];
    expect(differenceOf(lines, replayed)).toBeNull();
  });

  it('agree whatever times and hosts the session has, whatever its network showed, and whatever notifications were lost', () => {
    const lines = [
      { ...inference, host: 'api.example.test', ttfb_ms: 8, start_ms: 1, duration_ms: 12 },
      { ...call, content_bytes: 3, start_ms: 2, duration_ms: 1 },
      { event_type: 'refusal', what: 'host', name: 'a:1', rule: 'r', by: 'programs' },
      { event_type: 'refusals', what: 'host', by: 'programs', count: 4 },
      { event_type: 'egress', host: 'a', port: 1, allowed: false, by: 'programs' },
      { event_type: 'push_lost', host: 'a', sent: 1, lost: 2, reason: 'it answered 500' },
    ];
    expect(differenceOf(lines, replayed)).toBeNull();
  });

  it('agree as far as both go where the recording was cut off', () => {
    const [first, second] = replayed;
    if (first === undefined || second === undefined) throw new Error('there are two');
    const lines = [inference, call].map(traced);
    expect(firstTraceDifference(lines, [first], true)).toBeNull();
    expect(firstTraceDifference(lines.slice(0, 1), replayed, true)).toBeNull();
    expect(firstTraceDifference(lines, [first])).toEqual({ line: 2, difference: null });
    expect(firstTraceDifference(lines.slice(0, 1), replayed)).toEqual({ line: 2, difference: null });
    expect(firstTraceDifference(lines, [{ ...first, model: 'n' } as TraceEvent], true)).toMatchObject({ line: 1 });
  });

  it('differ in what a cache had', () => {
    const [first, second] = replayed;
    if (first === undefined || second === undefined) throw new Error('there are two');
    expect(differenceOf([{ ...inference, cache_read_tokens: 4 }, call], [first, second])).toMatchObject({
      line: 1,
      difference: { path: '/cache_read_tokens', recorded: 4 },
    });
  });
});
