/** Makes traces of all kinds for property tests. */

import fc from 'fast-check';

import type { TraceEvent, TraceLine } from '@svc/record/trace/events.ts';

const hexDigits = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'] as const;
const hex = (digits: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...hexDigits), { minLength: digits, maxLength: digits }).map((each) => each.join(''));
/** A UUIDv7 of these days. */
const uuid = fc.tuple(hex(8), hex(3), hex(15)).map(([time, a, b]) => `019a${time}7${a}8${b}`);
const name = fc.oneof(fc.string({ maxLength: 40 }), fc.constantFrom('gpt-4', 'wc', 'Über', '東京 🗼', 'x'.repeat(300)));
const count = fc.oneof(fc.nat(5000), fc.constantFrom(0, 127, 128, 16_384, 2 ** 31, 2 ** 40));
const usage = fc.record({ input_tokens: count, output_tokens: count });
const durationMs = fc.nat(600_000);
const exitCode = fc.constantFrom(null, 0, 1, 137, 255);

const call = (task: string): Record<string, fc.Arbitrary<unknown>> => ({
  task_id: fc.constant(task),
  turn: fc.nat(30),
  tool_call_id: fc.option(name),
  arguments: fc.jsonValue({ maxDepth: 2 }),
  is_error: fc.boolean(),
  duration_ms: durationMs,
  exit_code: exitCode,
  truncated: fc.boolean(),
  content_bytes: count,
});

function lineOfTask(task: string): fc.Arbitrary<unknown> {
  const one = (event_type: string, fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> =>
    fc.record({ event_type: fc.constant(event_type), ...fields });
  const task_id = fc.constant(task);
  return fc.oneof(
    one('inference', {
      task_id,
      turn: fc.nat(30),
      model: name,
      outcome: fc.constantFrom('response', 'failed', 'unavailable', 'malformed'),
      stop_reason: fc.option(name),
      usage: fc.option(usage),
      cache_read_tokens: fc.option(count, { nil: undefined }),
      cache_write_tokens: fc.option(count, { nil: undefined }),
      ttfb_ms: fc.option(durationMs, { nil: undefined }),
      duration_ms: durationMs,
    }),
    one('tool_call', {
      ...call(task),
      tool_name: name,
      tool_kind: fc.constantFrom('wasm', 'native', 'mcp', 'unknown'),
    }),
    one('shell', { ...call(task), command_name: name }),
    one('skill_call', { ...call(task), skill_name: name }),
    one('plan_step', {
      task_id,
      plan_id: name,
      step_id: name,
      outcome: fc.constantFrom('passed', 'failed', 'skipped'),
      kind: fc.constantFrom('tool', 'shell'),
      name,
      arguments: fc.constant(null),
      attempts: fc.nat(3),
      exit_code: exitCode,
      duration_ms: durationMs,
    }),
    one('delegation', {
      task_id,
      delegation_id: uuid.map((id) => `dlg_${id}`),
      capsule: name,
      version: fc.constant('1.0.0'),
      status: fc.constantFrom('failed', 'refused'),
    }),
    one('hook_error', { hook_name: name, event: name, error: name }),
    one('compaction', {
      task_id,
      outcome: fc.constantFrom('replaced', 'unchanged', 'failed'),
      estimated_tokens: count,
      max_tokens: count,
      messages_before: count,
      messages_after: count,
      duration_ms: durationMs,
    }),
    one('spend_ceiling_reached', { task_id, ceiling: count, spent: count, estimate: count }),
    one('resource_refusals', { outcome: name, status: fc.nat(600), count }),
  );
}

const traceparent = fc
  .tuple(hex(31), hex(15), fc.constantFrom('00', '01'))
  .map(([trace, span, flags]) => `00-1${trace}-2${span}-${flags}`);

const task: fc.Arbitrary<readonly unknown[]> = fc.tuple(uuid, fc.option(traceparent)).chain(([id, parent]) => {
  const task_id = `tsk_${id}`;
  const received = {
    event_type: 'task_received',
    task_id,
    context_id: `ctx_${id}`,
    origin: 'message',
    trust: 'untrusted',
    lane: 'foreground',
    ...(parent === null ? {} : { traceparent: parent }),
    text: 'Do it.',
  };
  const start = { event_type: 'task_start', task_id, attempt: 1 };
  const end = fc.record({ state: fc.constantFrom('completed', 'failed', 'canceled'), usage, duration_ms: durationMs });
  return fc.tuple(fc.array(lineOfTask(task_id), { maxLength: 6 }), end).map(([lines, ended]) => {
    const last: unknown = { event_type: 'task_end', task_id, message: 'session ended', turns: 1, ...ended };
    return [[received, start], lines, [last]].flat();
  });
});

/** Traces as sessions write them, and with names as strangers give them. */
export const generatedTrace: fc.Arbitrary<readonly TraceLine[]> = fc
  .tuple(hex(32), name, fc.constantFrom(undefined, 'svc-driver-openai', 'my-driver'), fc.array(task, { maxLength: 3 }))
  .chain(([session, capsule, driver, tasks]) => {
    const start = {
      event_type: 'session_start',
      capsule: { name: capsule, version: '1.0.0' },
      runtime_version: '0.4.0',
      ...(driver === undefined ? {} : { driver }),
      containment: { declared: 'advisory', achieved: 'advisory', mechanism: '' },
      tools_declared: [],
      effective_grants: {},
    };
    const end = { event_type: 'session_end', status: 'ok', tasks: tasks.length, duration_ms: 1 };
    const events = [start, ...tasks.flat(), end] as readonly TraceEvent[];
    return fc.array(uuid, { minLength: events.length, maxLength: events.length }).map((ids) =>
      events.map((event, at) => {
        const common = { event_id: `evt_${ids[at]}`, parent_id: null, session_id: `ses_${session}` };
        return Object.assign(common, { timestamp: 1_760_000_000_000 + at * 1000 }, event);
      }),
    );
  });
