/** Makes spans of lines of a trace and writes them as a request, in the batches in which they are sent. */

import { encodeSpansProtobuf } from '@svc/telemetry/encode-protobuf.ts';
import { MetricTotals } from '@svc/telemetry/metric-totals.ts';
import type { Origin, SpanRecord } from '@svc/telemetry/otlp-records.ts';
import { keepAll } from '@svc/telemetry/task-trace.ts';
import { TraceSpans } from '@svc/telemetry/trace-spans.ts';
import { Redactor } from '../../packages/kit/src/diagnostics/redactor.ts';
import { Secret } from '../../packages/kit/src/diagnostics/secret.ts';
import type { TraceLine } from '@svc/record/trace/events.ts';

const batch = 512;
const task_id = 'tsk_019a0c8e7b2c7d3f8a1b2c3d4e5f6071';
const common = { parent_id: null, session_id: `ses_${'1'.repeat(32)}`, timestamp: 1_795_648_839_039 } as const;

const start = {
  ...common,
  event_type: 'session_start',
  event_id: `evt_${'1'.repeat(32)}`,
  capsule: { name: 'scribe', version: '1.0.0' },
  runtime_version: '0.4.0',
  driver: 'svc-driver-openai',
  containment: { declared: 'scoped', achieved: 'sealed', mechanism: '' },
  tools_declared: [],
  effective_grants: {},
} as const satisfies TraceLine;

const received = {
  ...common,
  event_type: 'task_received',
  event_id: `evt_${'2'.repeat(32)}`,
  task_id,
  context_id: 'ctx_019a0c8e7b2c7d3f8a1b2c3d4e5f6072',
  origin: 'message',
  trust: 'untrusted',
  lane: 'foreground',
  text: 'Write a haiku.',
} as const satisfies TraceLine;

/** An inference and a call in turn, as an agent makes them. */
const lines: readonly TraceLine[] = Array.from({ length: batch }, (_, number): TraceLine => {
  const event_id = `evt_019a0c8e7b2c7d3f8a1b2c3d${String(number).padStart(8, '0')}`;
  const of = { ...common, event_id, task_id, turn: number, duration_ms: 412 };
  return number % 2 === 0
    ? {
        ...of,
        event_type: 'inference',
        model: 'gpt-4o-mini',
        outcome: 'response',
        stop_reason: 'tool_call',
        usage: { input_tokens: 1250, output_tokens: 84 },
      }
    : {
        ...of,
        event_type: 'shell',
        tool_call_id: 'call_mszuSIzqtI65i1wAUOE8w5H4',
        arguments: { command: 'wc -l out/haiku.txt' },
        command_name: 'sh',
        exit_code: 0,
        is_error: false,
        truncated: false,
        content_bytes: 120,
      };
});

const origin: Origin = {
  resource: [{ key: 'service.name', value: 'scribe' }],
  scope: { name: 'svc', version: '0.4.0' },
};

const redactor = new Redactor();
redactor.register(new Secret('sk-of-a-provider-4711'));

/** Microseconds of processor time for a span, from its line to its bytes. */
export function microsecondsPerSpan(batches: number): number {
  const spans: SpanRecord[] = [];
  const sink = { span: (span: SpanRecord) => void spans.push(span), log: () => {}, totals: new MetricTotals(0) };
  const made = new TraceSpans(start, sink, { sampler: keepAll, redact: (text) => redactor.redact(text) });
  made.take(received);
  const before = process.cpuUsage();
  for (let count = 0; count < batches; count += 1) {
    spans.length = 0;
    for (const line of lines) made.take(line);
    encodeSpansProtobuf(origin, spans);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (batches * batch);
}
