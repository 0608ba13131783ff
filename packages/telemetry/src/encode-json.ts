/** Writes telemetry as OTLP's JSON: hex ids, numbers of enumerations, nanoseconds as text. */

import {
  type Attribute,
  type AttributeValue,
  type HistogramPoint,
  type LogRecord,
  type MetricRecord,
  type MetricsSnapshot,
  type Origin,
  type SpanRecord,
  type SumPoint,
} from './otlp-records.ts';

const cumulative = 2;
const sampled = 1;
/** The flags of a span: the next one says something, and its parent is of another program. */
export const hasRemoteFlag = 0x100;
export const remoteFlag = 0x200;

export function encodeSpansJson(origin: Origin, spans: readonly SpanRecord[]): string {
  const scopeSpans = [{ scope: origin.scope, spans: spans.map(spanJson) }];
  return JSON.stringify({ resourceSpans: [{ resource: resourceJson(origin), scopeSpans }] });
}

export function encodeLogsJson(origin: Origin, logs: readonly LogRecord[]): string {
  const scopeLogs = [{ scope: origin.scope, logRecords: logs.map(logJson) }];
  return JSON.stringify({ resourceLogs: [{ resource: resourceJson(origin), scopeLogs }] });
}

export function encodeMetricsJson(origin: Origin, snapshot: MetricsSnapshot): string {
  const metrics = snapshot.metrics.map((metric) => metricJson(metric, snapshot));
  const scopeMetrics = [{ scope: origin.scope, metrics }];
  return JSON.stringify({ resourceMetrics: [{ resource: resourceJson(origin), scopeMetrics }] });
}

function resourceJson({ resource }: Origin): object {
  return { attributes: attributesJson(resource), droppedAttributesCount: 0 };
}

function spanJson(span: SpanRecord): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === null ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: span.kind,
    startTimeUnixNano: nanoseconds(span.startMs),
    endTimeUnixNano: nanoseconds(span.endMs),
    attributes: attributesJson(span.attributes),
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    status: { code: span.isError ? 2 : 0 },
    links: [],
    droppedLinksCount: 0,
    flags: sampled | hasRemoteFlag | (span.isParentRemote ? remoteFlag : 0),
  };
}

function logJson(log: LogRecord): object {
  return {
    timeUnixNano: nanoseconds(log.atMs),
    observedTimeUnixNano: nanoseconds(log.atMs),
    severityNumber: log.severity,
    severityText: severityText(log),
    body: { stringValue: log.body },
    eventName: log.eventName,
    attributes: attributesJson(log.attributes),
    droppedAttributesCount: 0,
    ...(log.span === null ? {} : { flags: sampled, traceId: log.span.traceId, spanId: log.span.spanId }),
  };
}

export function severityText({ severity }: LogRecord): string {
  return severity === 13 ? 'WARN' : 'INFO';
}

function metricJson(metric: MetricRecord, { startMs, atMs }: MetricsSnapshot): object {
  const { name, description, unit } = metric;
  const times = { startTimeUnixNano: nanoseconds(startMs), timeUnixNano: nanoseconds(atMs) };
  if (metric.kind === 'sum') {
    const dataPoints = metric.points.map(({ attributes, value }: SumPoint) => ({
      attributes: attributesJson(attributes),
      ...times,
      asInt: value,
    }));
    return { name, description, unit, sum: { aggregationTemporality: cumulative, isMonotonic: true, dataPoints } };
  }
  const dataPoints = metric.points.map(({ attributes, buckets, ...numbers }: HistogramPoint) => ({
    attributes: attributesJson(attributes),
    bucketCounts: buckets,
    explicitBounds: metric.bounds,
    ...numbers,
    ...times,
  }));
  return { name, description, unit, histogram: { aggregationTemporality: cumulative, dataPoints } };
}

function attributesJson(attributes: readonly Attribute[]): object[] {
  return attributes.map(({ key, value }) => ({ key, value: valueJson(value) }));
}

function valueJson(value: AttributeValue): object {
  switch (typeof value) {
    case 'string':
      return { stringValue: value };
    case 'boolean':
      return { boolValue: value };
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: value } : { doubleValue: value };
    default:
      return { arrayValue: { values: value.map(valueJson) } };
  }
}

/** From whole milliseconds: a number would not hold them exactly. */
function nanoseconds(ms: number): string {
  return ms === 0 ? '0' : `${ms}000000`;
}
