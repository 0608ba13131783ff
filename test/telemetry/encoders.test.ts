import fc from 'fast-check';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';

import { encodeLogsJson, encodeMetricsJson, encodeSpansJson } from '@svc/telemetry/encode-json.ts';
import { encodeLogsProtobuf, encodeMetricsProtobuf, encodeSpansProtobuf } from '@svc/telemetry/encode-protobuf.ts';
import { MetricTotals } from '@svc/telemetry/metric-totals.ts';
import type { Attribute, LogRecord, MetricsSnapshot, Origin, SpanRecord } from '@svc/telemetry/otlp-records.ts';
import { RequestSpans } from '@svc/telemetry/request-spans.ts';
import { keepAll } from '@svc/telemetry/task-trace.ts';
import { TraceSpans } from '@svc/telemetry/trace-spans.ts';
import type { TraceLine } from '@svc/record/trace/events.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { generatedTrace } from '../support/generated-traces.ts';
import { type OfficialOtlp, officialOtlp } from '../support/official-otlp.ts';
import { decodeRequest } from '../support/otlp-protobuf.ts';

const origin: Origin = {
  resource: [
    { key: 'service.name', value: 'Ünïcode 🗼' },
    { key: 'service.version', value: '1.0.0' },
  ],
  scope: { name: 'svc', version: '0.4.0' },
};

let official: OfficialOtlp | string = 'not asked for yet';

beforeAll(async () => {
  official = await officialOtlp();
}, 180_000);

function given(context: TestContext): OfficialOtlp {
  if (typeof official === 'string') return context.skip(official);
  return official;
}

interface Made {
  readonly spans: readonly SpanRecord[];
  readonly logs: readonly LogRecord[];
  readonly metrics: MetricsSnapshot;
}

function madeOf([start, ...lines]: readonly TraceLine[]): Made {
  if (start?.event_type !== 'session_start') throw new Error('a trace begins with session_start');
  const spans: SpanRecord[] = [];
  const logs: LogRecord[] = [];
  const totals = new MetricTotals(start.timestamp);
  const sink = {
    span: (span: SpanRecord) => void spans.push(span),
    log: (log: LogRecord) => void logs.push(log),
    totals,
  };
  const made = new TraceSpans(start, sink, { sampler: keepAll, redact: (text) => text });
  for (const line of lines) made.take(line);
  return { spans, logs, metrics: totals.snapshot(start.timestamp + 60_000) };
}

type Hr = readonly [seconds: number, nanoseconds: number];
const hr = (ms: number): Hr => [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
const plain = (attributes: readonly Attribute[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value]));

/** The records as the official SDK holds them. */
class Official {
  readonly #resource: unknown;

  constructor(otlp: OfficialOtlp) {
    this.#resource = otlp.resource(plain(origin.resource));
  }

  spans(spans: readonly SpanRecord[]): unknown {
    return spans.map((span) => ({
      name: span.name,
      kind: span.kind - 1,
      spanContext: () => ({ traceId: span.traceId, spanId: span.spanId, traceFlags: 1 }),
      ...(span.parentSpanId === null
        ? {}
        : {
            parentSpanContext: {
              traceId: span.traceId,
              spanId: span.parentSpanId,
              traceFlags: 1,
              isRemote: span.isParentRemote,
            },
          }),
      startTime: hr(span.startMs),
      endTime: hr(span.endMs),
      status: { code: span.isError ? 2 : 0 },
      attributes: plain(span.attributes),
      links: [],
      events: [],
      resource: this.#resource,
      instrumentationScope: origin.scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    }));
  }

  logs(logs: readonly LogRecord[]): unknown {
    return logs.map((log) => ({
      hrTime: hr(log.atMs),
      hrTimeObserved: hr(log.atMs),
      severityNumber: log.severity,
      severityText: log.severity === 13 ? 'WARN' : 'INFO',
      body: log.body,
      eventName: log.eventName,
      attributes: plain(log.attributes),
      droppedAttributesCount: 0,
      ...(log.span === null ? {} : { spanContext: { ...log.span, traceFlags: 1 } }),
      resource: this.#resource,
      instrumentationScope: origin.scope,
    }));
  }

  metrics({ startMs, atMs, metrics }: MetricsSnapshot): unknown {
    const times = { startTime: hr(startMs), endTime: hr(atMs) };
    return {
      resource: this.#resource,
      scopeMetrics: [
        {
          scope: origin.scope,
          metrics: metrics.map((metric) => ({
            descriptor: {
              name: metric.name,
              description: metric.description,
              unit: metric.unit,
              // A whole number; the other is 1.
              valueType: metric.kind === 'sum' ? 0 : 1,
            },
            aggregationTemporality: 1,
            dataPointType: metric.kind === 'sum' ? 3 : 0,
            isMonotonic: true,
            dataPoints:
              metric.kind === 'sum'
                ? metric.points.map(({ attributes, value }) => ({ attributes: plain(attributes), value, ...times }))
                : metric.points.map(({ attributes, buckets, ...numbers }) => ({
                    attributes: plain(attributes),
                    value: { ...numbers, buckets: { boundaries: metric.bounds, counts: buckets } },
                    ...times,
                  })),
          })),
        },
      ],
    };
  }
}

const parsed = (json: Uint8Array | string): unknown => JSON.parse(Buffer.from(json).toString('utf8'));

/** A number that is zero may stand in a message or be left out of it. */
function withoutZeros(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutZeros);
  if (typeof value !== 'object' || value === null) return value;
  const optional = new Set(['code', 'droppedAttributesCount', 'droppedEventsCount', 'droppedLinksCount']);
  const kept = Object.entries(value).filter(([key, each]) => !(each === 0 && optional.has(key)));
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutZeros(each)]));
}

const decoded = (path: string, bytes: Uint8Array): unknown => withoutZeros(decodeRequest(path, bytes));

describe('the telemetry of 1,000 generated traces', () => {
  it('has in JSON the form of the official encoder', (context) => {
    const otlp = given(context);
    const theirs = new Official(otlp);
    fc.assert(
      fc.property(generatedTrace, (lines) => {
        const { spans, logs, metrics } = madeOf(lines);
        if (spans.length > 0) {
          const expected = otlp.json.traces.serializeRequest(theirs.spans(spans));
          expect(parsed(encodeSpansJson(origin, spans))).toEqual(parsed(expected));
        }
        if (logs.length > 0) {
          const expected = otlp.json.logs.serializeRequest(theirs.logs(logs));
          expect(parsed(encodeLogsJson(origin, logs))).toEqual(parsed(expected));
        }
        const expected = otlp.json.metrics.serializeRequest(theirs.metrics(metrics));
        expect(parsed(encodeMetricsJson(origin, metrics))).toEqual(parsed(expected));
      }),
      { numRuns: 1000 },
    );
  }, 120_000);

  it('says in protobuf what the official encoder says, field by field', (context) => {
    const otlp = given(context);
    const theirs = new Official(otlp);
    fc.assert(
      fc.property(generatedTrace, (lines) => {
        const { spans, logs, metrics } = madeOf(lines);
        if (spans.length > 0) {
          const expected = otlp.protobuf.traces.serializeRequest(theirs.spans(spans));
          expect(decoded('/v1/traces', encodeSpansProtobuf(origin, spans))).toEqual(decoded('/v1/traces', expected));
        }
        if (logs.length > 0) {
          const expected = otlp.protobuf.logs.serializeRequest(theirs.logs(logs));
          expect(decoded('/v1/logs', encodeLogsProtobuf(origin, logs))).toEqual(decoded('/v1/logs', expected));
        }
        const expected = otlp.protobuf.metrics.serializeRequest(theirs.metrics(metrics));
        expect(decoded('/v1/metrics', encodeMetricsProtobuf(origin, metrics))).toEqual(
          decoded('/v1/metrics', expected),
        );
      }),
      { numRuns: 1000 },
    );
  }, 120_000);
});

/** Requests at doors as they may come: with and without a caller's span, answered well and not, with texts of clients in their attributes. */
const requests = fc.array(
  fc.record({
    door: fc.constantFrom('a2a', 'mcp', 'openai'),
    binding: fc.constantFrom('JSONRPC', 'HTTP+JSON', 'HTTP', 'stdio'),
    name: fc.option(fc.constantFrom('SendMessage', 'tools/call demo', 'POST /v1/responses')),
    id: fc.string({ unit: 'grapheme', maxLength: 40 }),
    status: fc.integer({ min: 100, max: 599 }),
    errorType: fc.option(fc.constantFrom('-32602', '500', 'tool_error')),
    caller: fc.option(fc.constant('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'), { nil: undefined }),
    ms: fc.nat(100_000),
  }),
  { minLength: 1, maxLength: 5 },
);

function requestSpansOf(
  asked: readonly (typeof requests extends fc.Arbitrary<(infer Each)[]> ? Each : never)[],
): SpanRecord[] {
  const sent: SpanRecord[] = [];
  const clock = new FakeClock();
  const spans = new RequestSpans({ sampler: keepAll, clock, send: (span) => void sent.push(span) });
  for (const { door, binding, name, id, status, errorType, caller, ms } of asked) {
    const span = spans.begin({
      door,
      binding,
      name,
      attributes: { jsonRpcId: id },
      traceparent: caller,
    });
    clock.advance(ms);
    span.end({ errorType, taskId: errorType === null ? 'tsk_1' : null, attributes: { httpStatus: status } });
  }
  return sent;
}

describe('the spans of requests at doors', () => {
  it('have in JSON and protobuf the form of the official encoders', (context) => {
    const otlp = given(context);
    const theirs = new Official(otlp);
    fc.assert(
      fc.property(requests, (asked) => {
        const spans = requestSpansOf(asked);
        expect(spans).toHaveLength(asked.length);
        const json = otlp.json.traces.serializeRequest(theirs.spans(spans));
        expect(parsed(encodeSpansJson(origin, spans))).toEqual(parsed(json));
        const bytes = otlp.protobuf.traces.serializeRequest(theirs.spans(spans));
        expect(decoded('/v1/traces', encodeSpansProtobuf(origin, spans))).toEqual(decoded('/v1/traces', bytes));
      }),
      { numRuns: 500 },
    );
  }, 120_000);
});
