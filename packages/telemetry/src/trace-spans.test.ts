import { describe, expect, it } from 'vitest';

import type { TraceEvent, TraceLine } from '@svc/record/trace/events.ts';
import { MetricTotals } from './metric-totals.ts';
import type { LogRecord, SpanRecord } from './otlp-records.ts';
import { keepAll, type Sampler } from './task-trace.ts';
import { TraceSpans } from './trace-spans.ts';

const task_id = 'tsk_019a0c8e7b2c7d3f8a1b2c3d4e5f6071';
const other = 'tsk_019a0c8e7b2c7d3f8a1b2c3d4e5f6079';
const delegation_id = 'dlg_019a0c8e7b2c7d3f9b1b2c3d4e5f6072';
const madeMs = 0x019a0c8e7b2c;
const usage = { input_tokens: 3, output_tokens: 4 };

const start: TraceEvent = {
  event_type: 'session_start',
  capsule: { name: 'demo', version: '1.0.0' },
  runtime_version: '0.4.0',
  containment: { declared: 'advisory', achieved: 'advisory', mechanism: '' },
  tools_declared: [],
  effective_grants: {},
};

function received(id = task_id): TraceEvent {
  const whoever = { origin: 'message', trust: 'untrusted', lane: 'foreground' } as const;
  return { event_type: 'task_received', task_id: id, context_id: 'ctx_1', ...whoever, text: 'x' };
}

function began(attempt = 1, id = task_id): TraceEvent {
  return { event_type: 'task_start', task_id: id, attempt };
}

function ended(state: 'completed' | 'failed' = 'completed', id = task_id): TraceEvent {
  return { event_type: 'task_end', task_id: id, state, message: '', turns: 1, usage, duration_ms: 1 };
}

const reopened: TraceEvent = { event_type: 'task_reopened', task_id, attempt: 2, feedback: 'again' };
const over: TraceEvent = { event_type: 'session_end', status: 'ok', tasks: 1, duration_ms: 1 };

function delegation(status: 'started' | 'ok' | 'crashed' | 'refused', step_id?: string): TraceEvent {
  const named = { event_type: 'delegation', task_id, delegation_id, capsule: 'worker', version: '2.0.0' } as const;
  return { ...named, status, ...(step_id === undefined ? {} : { step_id }) };
}

class Sent {
  readonly spans: SpanRecord[] = [];
  readonly logs: LogRecord[] = [];
  readonly totals = new MetricTotals(0);
  readonly made: TraceSpans;
  #line = 0;

  constructor(sampler: Sampler = keepAll) {
    const sink = {
      span: (span: SpanRecord) => void this.spans.push(span),
      log: (log: LogRecord) => void this.logs.push(log),
      totals: this.totals,
    };
    const first = this.#lineOf(start) as Extract<TraceLine, { event_type: 'session_start' }>;
    this.made = new TraceSpans(first, sink, { sampler, redact: (text) => text.replace('s3cret', '[secret]') });
  }

  take(...events: readonly TraceEvent[]): this {
    for (const event of events) this.made.take(this.#lineOf(event));
    return this;
  }

  get agents(): readonly string[] {
    return this.spans.map(({ name, startMs, endMs }) => `${name} ${startMs - madeMs}-${endMs - madeMs}`);
  }

  /** The nth line is of the nth second. */
  #lineOf(event: TraceEvent): TraceLine {
    this.#line += 1;
    const event_id = `evt_${String(this.#line).padStart(32, '0')}`;
    return {
      event_id,
      parent_id: null,
      session_id: `ses_${'1'.repeat(32)}`,
      timestamp: madeMs + this.#line * 1000,
      ...event,
    };
  }
}

describe('the span of a task', () => {
  it('ends when its hooks have spoken', () => {
    const sent = new Sent().take(received(), began(), ended());
    expect(sent.agents).toEqual([]);
    sent.made.settled(task_id);
    expect(sent.agents).toEqual(['invoke_agent demo 2000-4000']);
  });

  it('covers a task that a hook had run again, and ends with its last end', () => {
    const sent = new Sent().take(received(), began(), ended(), reopened, began(2), ended('failed'), over);
    expect(sent.agents).toEqual(['invoke_agent demo 2000-7000']);
    expect(sent.spans[0]?.isError).toBe(true);
    expect(sent.spans[0]?.attributes).toContainEqual({ key: 'svc.task.attempts', value: 2 });
  });

  it('stays open at a task that arrives before the hooks have spoken', () => {
    const sent = new Sent().take(received(), began(), ended(), received(other), reopened, began(2), ended(), over);
    expect(sent.agents).toEqual(['invoke_agent demo 2000-8000']);
  });

  it('ends at the start of another, which nothing can come before any more', () => {
    const sent = new Sent().take(received(), received(other), began(), ended(), began(1, other));
    expect(sent.agents).toEqual(['invoke_agent demo 2000-5000']);
  });

  it('ends with the cancel of one that never started, and is not made of one that has no end', () => {
    const canceled: TraceEvent = { event_type: 'task_canceled', task_id: other, queued: true };
    const sent = new Sent().take(received(), began(), received(other), canceled, over);
    expect(sent.agents).toEqual(['invoke_agent demo 4000-5000']);
    expect(sent.spans[0]?.attributes).toContainEqual({ key: 'svc.task.state', value: 'canceled' });
  });

  it('has a measure, and stays here, where its trace is not kept', () => {
    const sent = new Sent({ ratio: 0, followsParent: true }).take(received(), began(), ended(), over);
    expect([sent.spans, sent.totals.snapshot(1).metrics.map(({ name }) => name)]).toEqual([
      [],
      ['gen_ai.invoke_agent.duration'],
    ]);
  });
});

describe('the span of a delegation', () => {
  it('begins when the child was asked for, and ends with it, whatever has become of its task', () => {
    const sent = new Sent().take(received(), began(), delegation('started'), ended(), over, delegation('ok'));
    expect(sent.agents).toEqual(['invoke_agent demo 2000-5000', 'invoke_agent worker 0-7000']);
    expect(sent.spans[1]).toMatchObject({ spanId: '9b1b2c3d4e5f6072', parentSpanId: '8a1b2c3d4e5f6071', kind: 3 });
  });

  it('has an error for a child that did not end well, and a log for one that was refused', () => {
    expect(new Sent().take(received(), delegation('crashed')).spans[0]?.isError).toBe(true);
    expect(new Sent().take(received(), delegation('refused')).logs[0]).toMatchObject({
      body: 'a delegation was refused',
      span: { spanId: '8a1b2c3d4e5f6071' },
    });
  });

  it('ends with its step of a plan, or with the plan of a step that was canceled', () => {
    const step: TraceEvent = {
      event_type: 'plan_step',
      task_id,
      plan_id: 'p',
      step_id: 'a',
      outcome: 'passed',
      kind: 'capsule',
      name: 'worker',
      arguments: null,
      attempts: 1,
      exit_code: null,
      duration_ms: 5,
    };
    const counts = { passed: 0, failed: 0, skipped: 0, canceled: 1, file: null, duration_ms: 1 };
    const end: TraceEvent = { event_type: 'plan_end', task_id, plan_id: 'p', outcome: 'canceled', ...counts };
    const named = (sent: Sent): readonly string[] => sent.spans.map(({ name, isError }) => `${name} ${isError}`);
    expect(named(new Sent().take(received(), delegation('started', 'a'), step, end))).toEqual([
      'invoke_agent worker false',
      'execute_tool worker false',
    ]);
    expect(named(new Sent().take(received(), delegation('started', 'b'), step, end))).toEqual([
      'execute_tool worker false',
      'invoke_agent worker true',
    ]);
  });
});

describe('names that others give', () => {
  const call = { task_id, turn: 1, tool_call_id: null, arguments: {}, is_error: true, duration_ms: 5 };
  const rest = { exit_code: null, truncated: false, content_bytes: 0 };

  it('have no secrets, and at most 256 characters', () => {
    const shell: TraceEvent = { event_type: 'shell', ...call, ...rest, command_name: `s3cret${'x'.repeat(300)}` };
    const [span] = new Sent().take(received(), shell).spans;
    expect(span?.name).toMatch(/^execute_tool \[secret\]x{250}…$/);
  });

  it('never name measures where a model made them up', () => {
    const sent = new Sent().take(received());
    for (let number = 0; number < 10; number += 1) {
      sent.take({ event_type: 'tool_call', ...call, ...rest, tool_name: `made-up-${number}`, tool_kind: 'unknown' });
    }
    expect(sent.spans[9]?.name).toBe('execute_tool _OTHER');
    expect(JSON.stringify(sent.totals.snapshot(1))).not.toContain('made-up');
  });
});

describe('measures', () => {
  it('keep 256 sets of attributes apart, and put what comes beyond them into one', () => {
    const totals = new MetricTotals(0);
    for (let number = 0; number < 300; number += 1) totals.tool(`tool-${number}`, 0.5, null);
    const [metric] = totals.snapshot(1).metrics;
    expect(metric?.points.length).toBe(257);
    expect(metric?.points.at(-1)).toMatchObject({
      attributes: [{ key: 'otel.metric.overflow', value: true }],
      count: 44,
      sum: 22,
    });
  });

  it('count a value that is a limit into the bucket that ends there', () => {
    const totals = new MetricTotals(0);
    for (const seconds of [0.01, 0.011, 81.92, 82]) totals.tool('t', seconds, null);
    const [metric] = totals.snapshot(1).metrics;
    expect(metric?.points[0]).toMatchObject({
      buckets: [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1],
      min: 0.01,
      max: 82,
    });
  });
});
