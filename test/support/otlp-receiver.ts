/** Stands in for a collector of telemetry. */

import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Arrivals } from './arrivals.ts';
import { decodeRequest } from './otlp-protobuf.ts';

/** One request of an exporter. */
export interface Exported {
  /** `/v1/traces` and the like. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The request as OTLP's JSON has it, whatever it was encoded in. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code?: number };
  readonly flags: number;
}

type Answer = (response: ServerResponse, exported: Exported) => void;

const taken: Answer = (response) => void response.setHeader('content-type', 'application/json').end('{}');

/** A collector on a socket of this machine. What it was sent counts as received once `answer` is one of those that take it. */
export class OtlpReceiver {
  readonly requests = new Arrivals<Exported>();
  /** The requests that were accepted. */
  readonly received: Exported[] = [];
  /** How the next requests are answered. */
  answer: Answer = taken;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => void pieces.push(piece));
      request.on('end', () => {
        const body = Buffer.concat(pieces);
        const isJson = request.headers['content-type'] === 'application/json';
        const path = request.url ?? '';
        const json = isJson
          ? (JSON.parse(body.toString('utf8')) as Record<string, unknown>)
          : decodeRequest(path, body);
        const exported = { path, headers: request.headers, body, json };
        if (this.answer === taken) this.received.push(exported);
        this.answer(response, exported);
        this.requests.push(exported);
      });
    });
  }

  static async start(port = 0): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(port, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Takes everything again. */
  recover(): void {
    this.answer = taken;
  }

  /** The spans of all requests that were taken, in the order in which they came. */
  get spans(): readonly ReceivedSpan[] {
    return this.#items('/v1/traces', 'resourceSpans', 'scopeSpans', 'spans') as unknown as readonly ReceivedSpan[];
  }

  get logs(): readonly Readonly<Record<string, unknown>>[] {
    return this.#items('/v1/logs', 'resourceLogs', 'scopeLogs', 'logRecords');
  }

  /** The measures of the last request that has some. */
  get metrics(): readonly Readonly<Record<string, unknown>>[] {
    const last = this.received.filter(({ path }) => path === '/v1/metrics').slice(-1);
    return itemsOf(last, 'resourceMetrics', 'scopeMetrics', 'metrics');
  }

  #items(path: string, ...keys: readonly [string, string, string]): readonly Readonly<Record<string, unknown>>[] {
    return itemsOf(
      this.received.filter((each) => each.path === path),
      ...keys,
    );
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }
}

type Json = Readonly<Record<string, unknown>>;

function itemsOf(requests: readonly Exported[], resources: string, scopes: string, items: string): readonly Json[] {
  const below = (value: Json, key: string): readonly Json[] => (value[key] ?? []) as readonly Json[];
  return requests
    .flatMap(({ json }) => below(json, resources))
    .flatMap((resource) => below(resource, scopes))
    .flatMap((scope) => below(scope, items));
}

/** The attributes of a span by their names. */
export function attributesOf({ attributes }: Pick<ReceivedSpan, 'attributes'>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));
}

function plain(value: Json): unknown {
  const list = value['arrayValue'] as { readonly values?: readonly Json[] } | undefined;
  if (list !== undefined) return (list.values ?? []).map(plain);
  return value['stringValue'] ?? value['intValue'] ?? value['doubleValue'] ?? value['boolValue'];
}
