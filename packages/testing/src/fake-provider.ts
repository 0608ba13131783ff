/** The HTTP server under every scripted model provider. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';

import type { FakeReply, FakeStream } from './fake-reply.ts';

/** One request as it arrived, whole. */
export interface RecordedRequest {
  readonly method: string;
  /** The raw request target. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The body parsed; undefined when it is not JSON. */
  readonly json: unknown;
  /** Settles when the connection of this request is gone: the reply was sent, or the client went away. */
  readonly closed: Promise<'answered' | 'abandoned'>;
}

/** The wire form of one provider. */
export interface ProviderProtocol {
  readonly path: string;
  readonly keyHeader: { readonly name: string; readonly value: (key: string) => string };
  /** The answer to what is not asked of the model, such as a list of models; null for everything else. It is not recorded. */
  readonly beside?: (request: Pick<RecordedRequest, 'method' | 'path' | 'json'>) => object | null;
  /** What the real provider would refuse in this body; null when it is sound. */
  bodyFault(body: unknown): string | null;
  errorBody(status: number, message: string): string;
  /** The events of a stream, each with its blank line. */
  events(reply: FakeStream): readonly string[];
}

export interface FakeProviderOptions {
  /** When given, a request without this key is answered 401. */
  readonly key?: string;
}

/**
 * A provider on 127.0.0.1 that plays replies, one a request and in order, and records each request. Requests that the real
 * provider would refuse are answered 400 and use up no reply; without a reply left the answer is 400 too, saying so.
 */
export class FakeProvider {
  readonly requests: RecordedRequest[] = [];
  readonly #replies: FakeReply[];
  readonly #protocol: ProviderProtocol;
  readonly #key: string | null;
  readonly #server: Server;
  #port = 0;
  readonly #arrivals: { readonly count: number; readonly arrived: (request: RecordedRequest) => void }[] = [];

  private constructor(protocol: ProviderProtocol, replies: readonly FakeReply[], options: FakeProviderOptions) {
    this.#protocol = protocol;
    this.#replies = [...replies];
    this.#key = options.key ?? null;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(
    protocol: ProviderProtocol,
    replies: readonly FakeReply[],
    options: FakeProviderOptions = {},
  ): Promise<FakeProvider> {
    const provider = new FakeProvider(protocol, replies, options);
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    provider.#port = (provider.#server.address() as AddressInfo).port;
    return provider;
  }

  /** For `inference.endpoint`; stays the same after `close`. */
  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Adds replies behind those not yet played. */
  push(...replies: readonly FakeReply[]): void {
    this.#replies.push(...replies);
  }

  /** The request of this number, counted from 1, as soon as it is there. */
  async request(number: number): Promise<RecordedRequest> {
    const present = this.requests[number - 1];
    if (present !== undefined) return present;
    return await new Promise((arrived) => this.#arrivals.push({ count: number, arrived }));
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const recorded = await record(request, response);
    if (recorded === null) return;
    const beside = this.#protocol.beside?.(recorded) ?? null;
    if (beside !== null) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(beside));
      return;
    }
    this.requests.push(recorded);
    for (const { count, arrived } of this.#arrivals) if (count === this.requests.length) arrived(recorded);
    const fault = this.#fault(recorded);
    if (fault !== null) {
      this.#refuse(response, fault.status, fault.message);
      return;
    }
    const reply = this.#replies.shift();
    if (reply === undefined) this.#refuse(response, 400, `no reply is left for request ${this.requests.length}`);
    else await this.#play(reply, response);
  }

  #fault(request: RecordedRequest): { readonly status: number; readonly message: string } | null {
    const { path, keyHeader } = this.#protocol;
    if (request.path !== path) return { status: 404, message: `no such path: ${request.path}` };
    if (request.method !== 'POST') return { status: 405, message: 'method not allowed' };
    if (this.#key !== null && request.headers[keyHeader.name] !== keyHeader.value(this.#key)) {
      return { status: 401, message: 'invalid api key' };
    }
    const message = this.#protocol.bodyFault(request.json);
    return message === null ? null : { status: 400, message };
  }

  #refuse(
    response: ServerResponse,
    status: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(this.#protocol.errorBody(status, message));
  }

  async #play(reply: FakeReply, response: ServerResponse): Promise<void> {
    switch (reply.kind) {
      case 'drop':
        response.destroy();
        return;
      case 'refuse':
        if (reply.body === undefined) {
          this.#refuse(response, reply.status, reply.message ?? '', reply.headers);
          return;
        }
        response.writeHead(reply.status, { 'content-type': 'text/plain', ...reply.headers });
        response.end(reply.body);
        return;
      case 'raw':
        await streamTo(response, reply.pieces, {});
        return;
      case 'stream':
        await streamTo(response, this.#protocol.events(reply), reply);
        return;
    }
  }
}

async function record(request: IncomingMessage, response: ServerResponse): Promise<RecordedRequest | null> {
  const closed = new Promise<'answered' | 'abandoned'>((settle) => {
    response.on('close', () => settle(response.writableFinished ? 'answered' : 'abandoned'));
  });
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch (error) {
    // A client that goes away while it sends has made no request.
    if (error instanceof Error && 'code' in error && error.code === 'ECONNRESET') return null;
    throw error;
  }
  const body = Buffer.concat(chunks).toString('utf8');
  const { method = '', url: path = '', headers } = request;
  return { method, path, headers, body, json: parsed(body), closed };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function streamTo(
  response: ServerResponse,
  pieces: readonly (string | Uint8Array)[],
  { pace, breakAfter }: Pick<FakeStream, 'pace' | 'breakAfter'>,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  response.flushHeaders();
  for (const [index, piece] of pieces.entries()) {
    if (index === breakAfter) break;
    await pace?.(index);
    if (response.destroyed) return;
    response.write(piece);
    // Lets the piece leave before the next is written, as from a provider that is still thinking.
    await setImmediate();
  }
  if (breakAfter === undefined) response.end();
  else response.destroy();
}

export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects of a list; empty for any other value. */
export function recordsIn(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
