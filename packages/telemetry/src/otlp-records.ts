/** What telemetry consists of before it is encoded: spans, logs and the points of metrics. */

import { attributes as names } from './genai-names.ts';

export type AttributeValue = string | number | boolean | readonly string[];

export interface Attribute {
  readonly key: string;
  readonly value: AttributeValue;
}

/** Attributes by their names in `genai-names.ts`. Doors hand these over, so that they load nothing of this package when no telemetry is sent. */
export type NamedValues = { readonly [Name in keyof typeof names]?: AttributeValue | null | undefined };

/** As OTLP numbers them. */
export const spanKinds = { internal: 1, server: 2, client: 3 } as const;

/** A span that has ended. Ids are lower case hex, times are Unix milliseconds. */
export interface SpanRecord {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: (typeof spanKinds)[keyof typeof spanKinds];
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: readonly Attribute[];
  readonly isError: boolean;
  /** Whether its parent is a span of another program. */
  readonly isParentRemote: boolean;
}

/** As OTLP numbers them. */
export const severities = { info: 9, warning: 13 } as const;

export interface LogRecord {
  readonly atMs: number;
  readonly severity: (typeof severities)[keyof typeof severities];
  readonly eventName: string;
  readonly body: string;
  readonly attributes: readonly Attribute[];
  /** The span that it belongs to; null for one that belongs to none. */
  readonly span: { readonly traceId: string; readonly spanId: string } | null;
}

/** The values of one set of attributes. */
export interface HistogramPoint {
  readonly attributes: readonly Attribute[];
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
  /** One more than `bounds` has. */
  readonly buckets: readonly number[];
}

export interface SumPoint {
  readonly attributes: readonly Attribute[];
  readonly value: number;
}

/** One metric since the beginning of the session; sums only rise. */
export type MetricRecord = { readonly name: string; readonly description: string; readonly unit: string } & (
  | { readonly kind: 'histogram'; readonly bounds: readonly number[]; readonly points: readonly HistogramPoint[] }
  | { readonly kind: 'sum'; readonly points: readonly SumPoint[] }
);

/** All metrics at one time. */
export interface MetricsSnapshot {
  readonly startMs: number;
  readonly atMs: number;
  readonly metrics: readonly MetricRecord[];
}

/** The sender. */
export interface Origin {
  readonly resource: readonly Attribute[];
  readonly scope: { readonly name: string; readonly version: string };
}

/** Attributes in the order in which they are added; a value that is not there adds none. */
export class AttributeList {
  readonly list: Attribute[] = [];

  add(key: string, value: AttributeValue | null | undefined): this {
    if (value !== null && value !== undefined) this.list.push({ key, value });
    return this;
  }

  addNamed(values: NamedValues): this {
    for (const [name, value] of Object.entries(values)) this.add(names[name as keyof NamedValues], value);
    return this;
  }

  addAll(attributes: readonly Attribute[]): this {
    for (const attribute of attributes) this.list.push(attribute);
    return this;
  }
}
