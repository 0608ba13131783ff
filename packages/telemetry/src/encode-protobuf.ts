/** Writes telemetry as OTLP's protobuf messages; the numbers of fields are those of opentelemetry-proto 1.x. */

import { hasRemoteFlag, remoteFlag, severityText } from './encode-json.ts';
import type {
  Attribute,
  AttributeValue,
  HistogramPoint,
  LogRecord,
  MetricRecord,
  MetricsSnapshot,
  Origin,
  SpanRecord,
  SumPoint,
} from './otlp-records.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

const cumulative = 2;
const sampled = 1;

export function encodeSpansProtobuf(origin: Origin, spans: readonly SpanRecord[]): Uint8Array {
  return request(origin, (to) => {
    for (const span of spans) writeSpan(to, span);
  });
}

export function encodeLogsProtobuf(origin: Origin, logs: readonly LogRecord[]): Uint8Array {
  return request(origin, (to) => {
    for (const log of logs) writeLog(to, log);
  });
}

export function encodeMetricsProtobuf(origin: Origin, snapshot: MetricsSnapshot): Uint8Array {
  return request(origin, (to) => {
    for (const metric of snapshot.metrics) writeMetric(to, metric, snapshot);
  });
}

/** The three requests have the same fields except field 2 of their scope. */
function request({ resource, scope }: Origin, write: (to: ProtobufWriter) => void): Uint8Array {
  const to = new ProtobufWriter();
  const ofResource = to.begin(1);
  const described = to.begin(1);
  writeAttributes(to, 1, resource);
  to.end(described);
  const ofScope = to.begin(2);
  const named = to.begin(1);
  to.text(1, scope.name);
  to.text(2, scope.version);
  to.end(named);
  write(to);
  to.end(ofScope);
  to.end(ofResource);
  return to.finish();
}

function writeSpan(to: ProtobufWriter, span: SpanRecord): void {
  const start = to.begin(2);
  to.hex(1, span.traceId);
  to.hex(2, span.spanId);
  if (span.parentSpanId !== null) to.hex(4, span.parentSpanId);
  to.text(5, span.name);
  to.int(6, span.kind);
  to.nanoseconds(7, span.startMs);
  to.nanoseconds(8, span.endMs);
  writeAttributes(to, 9, span.attributes);
  const status = to.begin(15);
  if (span.isError) to.int(3, 2);
  to.end(status);
  to.fixed32(16, sampled | hasRemoteFlag | (span.isParentRemote ? remoteFlag : 0));
  to.end(start);
}

function writeLog(to: ProtobufWriter, log: LogRecord): void {
  const start = to.begin(2);
  to.nanoseconds(1, log.atMs);
  to.int(2, log.severity);
  to.text(3, severityText(log));
  const body = to.begin(5);
  to.text(1, log.body);
  to.end(body);
  writeAttributes(to, 6, log.attributes);
  if (log.span !== null) {
    to.fixed32(8, sampled);
    to.hex(9, log.span.traceId);
    to.hex(10, log.span.spanId);
  }
  to.nanoseconds(11, log.atMs);
  to.text(12, log.eventName);
  to.end(start);
}

function writeMetric(to: ProtobufWriter, metric: MetricRecord, times: MetricsSnapshot): void {
  const start = to.begin(2);
  to.text(1, metric.name);
  to.text(2, metric.description);
  to.text(3, metric.unit);
  if (metric.kind === 'sum') {
    const sum = to.begin(7);
    for (const point of metric.points) writeSum(to, point, times);
    to.int(2, cumulative);
    to.int(3, 1);
    to.end(sum);
  } else {
    const histogram = to.begin(9);
    for (const point of metric.points) writeHistogram(to, point, metric.bounds, times);
    to.int(2, cumulative);
    to.end(histogram);
  }
  to.end(start);
}

function writeSum(to: ProtobufWriter, { attributes, value }: SumPoint, { startMs, atMs }: MetricsSnapshot): void {
  const start = to.begin(1);
  to.nanoseconds(2, startMs);
  to.nanoseconds(3, atMs);
  to.fixed64(6, value);
  writeAttributes(to, 7, attributes);
  to.end(start);
}

function writeHistogram(
  to: ProtobufWriter,
  { attributes, count, sum, min, max, buckets }: HistogramPoint,
  bounds: readonly number[],
  { startMs, atMs }: MetricsSnapshot,
): void {
  const start = to.begin(1);
  to.nanoseconds(2, startMs);
  to.nanoseconds(3, atMs);
  to.fixed64(4, count);
  to.double(5, sum);
  to.packedFixed64(6, buckets);
  to.packedDoubles(7, bounds);
  writeAttributes(to, 9, attributes);
  to.double(11, min);
  to.double(12, max);
  to.end(start);
}

function writeAttributes(to: ProtobufWriter, field: number, attributes: readonly Attribute[]): void {
  for (const { key, value } of attributes) {
    const pair = to.begin(field);
    to.text(1, key);
    const held = to.begin(2);
    writeValue(to, value);
    to.end(held);
    to.end(pair);
  }
}

function writeValue(to: ProtobufWriter, value: AttributeValue): void {
  switch (typeof value) {
    case 'string':
      return to.text(1, value);
    case 'boolean':
      return to.int(2, value ? 1 : 0);
    case 'number':
      return Number.isSafeInteger(value) ? to.int(3, value) : to.double(4, value);
    default: {
      const list = to.begin(5);
      for (const each of value) {
        const item = to.begin(1);
        to.text(1, each);
        to.end(item);
      }
      to.end(list);
    }
  }
}
