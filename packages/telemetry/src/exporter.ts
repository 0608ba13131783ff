/** Sends the telemetry of one session: its lines become records, its records wait in queues, and the queues are emptied over HTTP. */

import { atMost, type Clock } from '@svc/kit/clock.ts';
import { Connections } from '@svc/kit/net/connections.ts';
import { ProxiedConnections } from '@svc/kit/net/proxied-connections.ts';
import type { TraceLine } from '@svc/record/trace/events.ts';
import { BatchQueue, type Delivered } from './batch-queue.ts';
import { encodeLogsJson, encodeMetricsJson, encodeSpansJson } from './encode-json.ts';
import { encodeLogsProtobuf, encodeMetricsProtobuf, encodeSpansProtobuf } from './encode-protobuf.ts';
import { attributes as names } from './genai-names.ts';
import { MetricTotals } from './metric-totals.ts';
import {
  type Attribute,
  AttributeList,
  type LogRecord,
  type MetricsSnapshot,
  type Origin,
  type SpanRecord,
} from './otlp-records.ts';
import { postBatch } from './post-batch.ts';
import { RequestSpans } from './request-spans.ts';
import type { SignalName, TelemetrySettings } from './telemetry-settings.ts';
import { type TelemetrySink, TraceSpans } from './trace-spans.ts';

type SessionStart = Extract<TraceLine, { event_type: 'session_start' }>;

interface ExporterRequest {
  readonly settings: TelemetrySettings;
  readonly start: SessionStart;
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  /** Whether measures are sent while the session lasts; without it only once, at its end. */
  readonly isLive: boolean;
}

/** What became of the records of each signal that goes somewhere. */
export type DeliveredSignals = Readonly<Partial<Record<SignalName, Delivered>>>;

interface Encoders<Item> {
  readonly protobuf: (origin: Origin, items: readonly Item[]) => Uint8Array;
  readonly json: (origin: Origin, items: readonly Item[]) => string;
}

/** Two at most: one that is being sent, and a newer one that says all that it does. */
const maxSnapshots = 2;

/** The telemetry of one session, from its first line. Nothing waits for it but `close`. */
export class Exporter {
  readonly #settings: TelemetrySettings;
  readonly #origin: Origin;
  readonly #clock: Clock;
  readonly #connections: Connections;
  readonly #totals: MetricTotals;
  readonly #spans: TraceSpans;
  readonly #queues: {
    readonly traces: BatchQueue<SpanRecord> | null;
    readonly logs: BatchQueue<LogRecord> | null;
    readonly metrics: BatchQueue<MetricsSnapshot> | null;
  };
  readonly #requests: RequestSpans;
  #takeBackMeasure: () => void = () => {};

  constructor({ settings, start, redact, clock, isLive }: ExporterRequest) {
    this.#settings = settings;
    this.#clock = clock;
    this.#connections = new Connections({ proxied: new ProxiedConnections(settings.proxyFor) });
    this.#origin = originOf(start, settings, redact);
    this.#totals = new MetricTotals(start.timestamp);
    this.#queues = {
      traces: this.#queue<SpanRecord>('traces', { protobuf: encodeSpansProtobuf, json: encodeSpansJson }, sizeOfSpan),
      logs: this.#queue<LogRecord>('logs', { protobuf: encodeLogsProtobuf, json: encodeLogsJson }, () => 500),
      metrics: this.#queue<MetricsSnapshot>('metrics', newestMetrics, () => 1),
    };
    const { traces, logs } = this.#queues;
    const sink: TelemetrySink = {
      span: (span) => traces?.add(span),
      log: (log) => logs?.add(log),
      totals: this.#totals,
    };
    this.#spans = new TraceSpans(start, sink, { sampler: settings.sampler, redact });
    this.#requests = new RequestSpans({ sampler: settings.sampler, clock, send: (span) => traces?.add(span) });
    if (isLive && this.#queues.metrics !== null) this.#measureLater();
  }

  /** A line of the trace, in its turn, after the first. `content` is what may be said of prompts and results. */
  take(line: TraceLine, content?: readonly Attribute[]): void {
    this.#spans.take(line, content);
  }

  /** The hooks of a task have spoken. */
  settled(taskId: string): void {
    this.#spans.settled(taskId);
  }

  /** The spans of requests at doors, which no line of the trace has. */
  get requests(): RequestSpans {
    return this.#requests;
  }

  /** Resolves once the queues have room for another batch, or after `withinMs`. Only who has all lines already waits for it. */
  async caughtUp(withinMs: number): Promise<void> {
    const { traces, logs } = this.#queues;
    await atMost(this.#clock, withinMs, Promise.all([traces?.caughtUp(), logs?.caughtUp()]));
  }

  /**
   * No line comes any more. Sends what is left, for at most `withinMs`, and says what became of everything. `measuredMs` is the time of the last
   * measures; null sends none.
   */
  async close(withinMs: number, measuredMs: number | null): Promise<DeliveredSignals> {
    this.#takeBackMeasure();
    this.#spans.finish();
    const { traces, logs, metrics } = this.#queues;
    if (measuredMs !== null) metrics?.add(this.#totals.snapshot(measuredMs));
    await Promise.all([traces?.close(withinMs), logs?.close(withinMs), metrics?.close(withinMs)]);
    this.#connections.close();
    return this.delivered;
  }

  get delivered(): DeliveredSignals {
    const { traces, logs, metrics } = this.#queues;
    return {
      ...(traces === null ? {} : { traces: traces.delivered }),
      ...(metrics === null ? {} : { metrics: metrics.delivered }),
      ...(logs === null ? {} : { logs: logs.delivered }),
    };
  }

  /** Why requests failed of late; null where none did. */
  get why(): string | null {
    const { traces, logs, metrics } = this.#queues;
    return traces?.why ?? metrics?.why ?? logs?.why ?? null;
  }

  /** The address of measures that its collector has no place for, where nothing else was lost; else null. */
  get withoutMeasures(): string | null {
    const { traces, logs, metrics } = this.#queues;
    const isWhole = [traces, logs].every(
      (queue) => queue === null || queue.delivered.failed + queue.delivered.dropped === 0,
    );
    return isWhole && metrics?.isAbsent === true ? (this.#settings.signals.metrics?.url.toString() ?? null) : null;
  }

  #measureLater(): void {
    this.#takeBackMeasure = this.#clock.after(this.#settings.metricsEveryMs, () => {
      const { metrics } = this.#queues;
      // A collector that is away gets the newest of them when it is back: each says all that the earlier ones did.
      if (metrics?.isEmpty === true) metrics.add(this.#totals.snapshot(this.#clock.now()));
      this.#measureLater();
    });
  }

  /** Returns null for a signal that goes nowhere. */
  #queue<Item>(name: SignalName, encoders: Encoders<Item>, sizeOf: (item: Item) => number): BatchQueue<Item> | null {
    const signal = this.#settings.signals[name];
    if (signal === undefined) return null;
    const { maxQueued, maxInBatch, delayMs } = this.#settings;
    const isMetrics = name === 'metrics';
    const encode = (items: readonly Item[]): Uint8Array =>
      signal.encoding === 'protobuf'
        ? encoders.protobuf(this.#origin, items)
        : Buffer.from(encoders.json(this.#origin, items));
    return new BatchQueue<Item>({
      maxQueued: isMetrics ? maxSnapshots : maxQueued,
      maxInBatch: isMetrics ? maxSnapshots : maxInBatch,
      delayMs: isMetrics ? 0 : delayMs,
      sizeOf,
      clock: this.#clock,
      onLost: (records) => this.#totals.lost(name, records),
      post: async (items) => {
        return await postBatch(signal, encode(items), { connections: this.#connections, clock: this.#clock });
      },
    });
  }
}

/** The newest of the snapshots that wait says everything. */
const newestMetrics: Encoders<MetricsSnapshot> = {
  protobuf: (origin, snapshots) => encodeMetricsProtobuf(origin, newest(snapshots)),
  json: (origin, snapshots) => encodeMetricsJson(origin, newest(snapshots)),
};

function newest(snapshots: readonly MetricsSnapshot[]): MetricsSnapshot {
  const last = snapshots.at(-1);
  if (last === undefined) throw new Error('a batch has something in it');
  return last;
}

/** Without content a span takes about this much; what content adds are texts of two bytes a character. */
const plainSpanBytes = 1000;

function sizeOfSpan({ attributes }: SpanRecord): number {
  let size = plainSpanBytes;
  for (const { value } of attributes) if (typeof value === 'string' && value.length > 256) size += value.length * 2;
  return size;
}

/** What is sent says of itself which capsule it is of, which session, and by which version of svc it was written. */
function originOf(start: SessionStart, settings: TelemetrySettings, redact: (text: string) => string): Origin {
  const given = new Map(settings.resource);
  const name = settings.serviceName ?? given.get(names.serviceName) ?? redact(start.capsule.name);
  const resource = new AttributeList()
    .add(names.serviceName, name)
    .add(names.serviceVersion, given.get(names.serviceVersion) ?? redact(start.capsule.version))
    .add(names.serviceInstance, given.get(names.serviceInstance) ?? start.session_id)
    .add(names.sdkName, 'svc')
    .add(names.sdkLanguage, 'nodejs')
    .add(names.sdkVersion, start.runtime_version);
  const own = new Set(resource.list.map(({ key }) => key));
  for (const [key, value] of given) if (!own.has(key)) resource.add(key, value);
  return { resource: resource.list, scope: { name: 'svc', version: start.runtime_version } };
}
