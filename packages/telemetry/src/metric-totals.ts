/** Adds up what is measured in a session: durations, tokens, and what of telemetry itself was lost. */

import { attributes as names, metrics as metricNames, operations, secondsBounds, tokenBounds } from './genai-names.ts';
import { type Attribute, AttributeList, type MetricRecord, type MetricsSnapshot } from './otlp-records.ts';

interface Totals {
  readonly attributes: readonly Attribute[];
  count: number;
  sum: number;
  min: number;
  max: number;
  readonly buckets: number[];
}

/** Sets of attributes that one metric keeps apart. Whatever comes beyond these is one set. */
const maxSets = 256;
const overflow: readonly Attribute[] = [{ key: names.overflow, value: true }];

/** What one inference came to; `usage` is null if the provider reported none. */
interface InferenceMeasure {
  readonly model: string;
  readonly provider: string | null;
  readonly seconds: number;
  readonly errorType: string | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number } | null;
}

/** All values since the beginning of the session. */
export class MetricTotals {
  readonly #startMs: number;
  readonly #metrics: ReadonlyMap<string, MetricSets> = new Map(kinds.map((kind) => [kind.name, new MetricSets(kind)]));

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  inference({ model, provider, seconds, errorType, usage }: InferenceMeasure): void {
    const of = `${provider}\n${model}`;
    const common = (): AttributeList =>
      new AttributeList().add(names.operation, operations.chat).add(names.provider, provider).add(names.model, model);
    const ended = `${of}\n${errorType}`;
    const withError = (): AttributeList => common().add(names.errorType, errorType);
    this.#of(metricNames.operation).add(ended, seconds, withError);
    this.#of(metricNames.inference).add(ended, seconds, withError);
    // A provider that reports no tokens counts as 0, so that the counters are there (the conventions ask for it).
    const counted = (): AttributeList => common().add(names.tokenModality, 'unknown');
    this.#of(metricNames.inputTokens).add(of, usage?.input_tokens ?? 0, counted);
    this.#of(metricNames.outputTokens).add(of, usage?.output_tokens ?? 0, counted);
    if (usage === null) return;
    const tokens = this.#of(metricNames.tokens);
    tokens.add(`${of}\ninput`, usage.input_tokens, () => common().add(names.tokenType, 'input'));
    tokens.add(`${of}\noutput`, usage.output_tokens, () => common().add(names.tokenType, 'output'));
  }

  tool(name: string, seconds: number, errorType: string | null): void {
    this.#of(metricNames.tool).add(`${name}\n${errorType}`, seconds, () =>
      new AttributeList()
        .add(names.operation, operations.tool)
        .add(names.toolName, name)
        .add(names.errorType, errorType),
    );
  }

  agent(name: string, seconds: number, errorType: string | null): void {
    this.#of(metricNames.agent).add(`${errorType}`, seconds, () =>
      new AttributeList()
        .add(names.operation, operations.agent)
        .add(names.agentName, name)
        .add(names.errorType, errorType),
    );
  }

  /** More records of a signal were lost. */
  lost(signal: string, records: number): void {
    this.#of(metricNames.lost).add(signal, records, () => new AttributeList().add(names.signal, signal));
  }

  /** Without the metrics that have no value yet. */
  snapshot(atMs: number): MetricsSnapshot {
    const metrics = [...this.#metrics.values()].flatMap((sets) => sets.record() ?? []);
    return { startMs: this.#startMs, atMs, metrics };
  }

  #of(metric: string): MetricSets {
    const sets = this.#metrics.get(metric);
    if (sets === undefined) throw new Error(`there is no metric ${metric}`);
    return sets;
  }
}

/** The values of one metric, by the sets of their attributes. */
class MetricSets {
  readonly #kind: Kind;
  readonly #sets = new Map<string, Totals>();

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  /** `key` stands for the attributes, which are asked for when it is new. */
  add(key: string, value: number, attributes: () => AttributeList): void {
    const set = this.#sets.get(key) ?? this.#fresh(key, attributes);
    set.count += 1;
    set.sum += value;
    if (value < set.min) set.min = value;
    if (value > set.max) set.max = value;
    const { bounds } = this.#kind;
    if (bounds === null) return;
    const bucket = bucketOf(bounds, value);
    set.buckets[bucket] = (set.buckets[bucket] ?? 0) + 1;
  }

  /** Returns null without a value. */
  record(): MetricRecord | null {
    if (this.#sets.size === 0) return null;
    const { bounds, ...described } = this.#kind;
    const sets = [...this.#sets.values()];
    if (bounds === null) {
      const points = sets.map(({ attributes, sum: value }) => ({ attributes, value }));
      return { ...described, kind: 'sum', points };
    }
    const points = sets.map(({ attributes, count, sum, min, max, buckets }) => {
      return { attributes, count, sum, min, max, buckets: [...buckets] };
    });
    return { ...described, kind: 'histogram', bounds, points };
  }

  #fresh(key: string, attributes: () => AttributeList): Totals {
    const isFull = this.#sets.size >= maxSets;
    const shared = isFull ? this.#sets.get(overflowKey) : undefined;
    if (shared !== undefined) return shared;
    const buckets = Array.from({ length: (this.#kind.bounds?.length ?? 0) + 1 }, () => 0);
    const numbers = { count: 0, sum: 0, min: Infinity, max: -Infinity, buckets };
    const set = { attributes: isFull ? overflow : attributes().list, ...numbers };
    this.#sets.set(isFull ? overflowKey : key, set);
    return set;
  }
}

/** No set of attributes is written so. */
const overflowKey = '\n';

interface Kind {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  /** Is null for a sum. */
  readonly bounds: readonly number[] | null;
}

const kinds: readonly Kind[] = [
  durations(metricNames.operation, 'Duration of an inference.'),
  durations(metricNames.inference, 'Duration of an inference.'),
  durations(metricNames.agent, 'Duration of a task of the capsule.'),
  durations(metricNames.tool, 'Duration of a call of a tool.'),
  { name: metricNames.tokens, description: 'Tokens of an inference.', unit: '{token}', bounds: tokenBounds },
  { name: metricNames.inputTokens, description: 'Input tokens used.', unit: '{token}', bounds: null },
  { name: metricNames.outputTokens, description: 'Output tokens used.', unit: '{token}', bounds: null },
  { name: metricNames.lost, description: 'Records that were not delivered.', unit: '{record}', bounds: null },
];

function durations(name: string, description: string): Kind {
  return { name, description, unit: 's', bounds: secondsBounds };
}

/** A value that is a bound belongs to the bucket that the bound ends. */
function bucketOf(bounds: readonly number[], value: number): number {
  const index = bounds.findIndex((bound) => value <= bound);
  return index < 0 ? bounds.length : index;
}
