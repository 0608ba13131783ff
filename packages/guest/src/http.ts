/** Sends HTTP requests to the hosts that the capsule grants, and waits for what they answer. */

import { subscribeDuration } from 'wasi:clocks/monotonic-clock@0.2.12';
import { handle } from 'wasi:http/outgoing-handler@0.2.12';
import {
  Fields,
  OutgoingBody,
  OutgoingRequest,
  type ErrorCode,
  type FutureIncomingResponse,
  type IncomingBody,
  type IncomingResponse,
} from 'wasi:http/types@0.2.12';
import { poll } from 'wasi:io/poll@0.2.12';
import type { InputStream } from 'wasi:io/streams@0.2.12';

import { isObject } from './json.ts';
import { brokenResponse, connectionFailure } from './request-failure.ts';
import { payloadOf } from './wit-error.ts';
import { writeWhole } from './write-whole.ts';

export { RequestFailure } from './request-failure.ts';

export type Headers = readonly (readonly [name: string, value: string])[];

export interface PostRequest {
  readonly url: string;
  readonly headers: Headers;
  /** Text, which goes out as UTF-8, or parts that follow each other. */
  readonly body: string | readonly (string | Uint8Array)[];
}

export interface HttpResponse {
  readonly status: number;
  /** The first value of a header; `name` is lower case. Null when the response has none of that name. */
  header(name: string): string | null;
  /**
   * The body as UTF-8 as it arrives, to be iterated at most once. Throws `RequestFailure` when the connection breaks. `patienceMs` is asked before
   * each wait how long that may take, with null for ever; the iteration ends when nothing has come in that time.
   */
  pieces(patienceMs?: () => number | null): Iterable<string>;
  /** Closes the connection. Whoever got the response calls it, once or more often. */
  close(): void;
}

const readSize = 64 * 1024;

/** Sends one POST and returns once the head of the response is there. Throws `RequestFailure` when none comes. */
export function post({ url, headers, body }: PostRequest): HttpResponse {
  const encoder = new TextEncoder();
  const parts = typeof body === 'string' ? [body] : body;
  const content = parts.map((part) => (typeof part === 'string' ? encoder.encode(part) : part));
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return exchange(url, { method: 'post', headers: [...headers, ['content-length', String(length)]], content });
}

/** As `post`, one GET. */
export function get(url: string, headers: Headers = []): HttpResponse {
  return exchange(url, { method: 'get', headers, content: null });
}

interface Exchange {
  readonly method: 'get' | 'post';
  readonly headers: Headers;
  readonly content: readonly Uint8Array[] | null;
}

function exchange(url: string, { method, headers, content }: Exchange): HttpResponse {
  // What follows a # is for who asks, and is not sent.
  const address = /^(https?):\/\/([^/?#]+)(\/[^?#\r\n]*)?(\?[^#\r\n]*)?(#.*)?$/i.exec(url);
  if (address === null) throw new Error(`${url} is not an http or https address`);
  const [, scheme = '', authority = '', path = '/', query = ''] = address;
  const outgoing = new OutgoingRequest(fieldsOf(headers));
  outgoing.setMethod({ tag: method });
  outgoing.setScheme({ tag: scheme.toLowerCase() === 'http' ? 'HTTP' : 'HTTPS' });
  outgoing.setAuthority(authority);
  outgoing.setPathWithQuery(`${path}${query}`);
  const origin = `${scheme}://${authority}`;
  return new WasiResponse(content === null ? sendBare(origin, outgoing) : send(origin, outgoing, content));
}

/** A body that is asked for is announced to the server, also an empty one. */
function sendBare(origin: string, outgoing: OutgoingRequest): IncomingResponse {
  return awaitHead(origin, handOver(origin, outgoing));
}

function handOver(origin: string, outgoing: OutgoingRequest): FutureIncomingResponse {
  try {
    return handle(outgoing, null);
  } catch (error) {
    throw failureOf(origin, error);
  }
}

function fieldsOf(headers: Headers): Fields {
  const encoder = new TextEncoder();
  return Fields.fromList(headers.map(([name, value]) => [name, encoder.encode(value)]));
}

function send(origin: string, outgoing: OutgoingRequest, content: readonly Uint8Array[]): IncomingResponse {
  const body = outgoing.body();
  let isSent = false;
  try {
    const future = handOver(origin, outgoing);
    isSent = writeAll(body, content);
    if (isSent) finish(body);
    // A broken stream says only that it broke. What the request came to says why: nobody listened, or the server went away.
    return awaitHead(origin, future);
  } finally {
    if (!isSent) body[Symbol.dispose]();
  }
}

/** What is wrong with the request is told with its response. */
function finish(body: OutgoingBody): void {
  try {
    OutgoingBody.finish(body, null);
  } catch (error) {
    if (!isErrorCode(payloadOf(error))) throw error;
  }
}

function failureOf(origin: string, error: unknown): unknown {
  const payload = payloadOf(error);
  return isErrorCode(payload) ? connectionFailure(origin, payload) : error;
}

function isErrorCode(value: unknown): value is ErrorCode {
  return isObject(value) && typeof value['tag'] === 'string';
}

/** Whether the connection took all of it. */
function writeAll(body: OutgoingBody, content: readonly Uint8Array[]): boolean {
  using stream = body.write();
  try {
    for (const part of content) writeWhole(stream, part);
    stream.blockingFlush();
    return true;
  } catch (error) {
    if (!isErrorCode(payloadOf(error))) throw error;
    return false;
  }
}

function awaitHead(origin: string, future: FutureIncomingResponse): IncomingResponse {
  try {
    using arrived = future.subscribe();
    arrived.block();
    const outcome = future.get();
    if (outcome === null || outcome.tag === 'err') throw new Error('the response was taken before it arrived');
    if (outcome.val.tag === 'err') throw connectionFailure(origin, outcome.val.val);
    return outcome.val.val;
  } finally {
    future[Symbol.dispose]();
  }
}

class WasiResponse implements HttpResponse {
  readonly status: number;
  readonly #response: IncomingResponse;
  #body: { readonly body: IncomingBody; readonly stream: InputStream } | null = null;
  #closed = false;

  constructor(response: IncomingResponse) {
    this.#response = response;
    this.status = response.status();
  }

  header(name: string): string | null {
    using headers = this.#response.headers();
    const [value] = headers.get(name);
    return value === undefined ? null : new TextDecoder().decode(value);
  }

  *pieces(patienceMs: () => number | null = () => null): Generator<string, void, void> {
    const body = this.#response.consume();
    const stream = body.stream();
    this.#body = { body, stream };
    const decoder = new TextDecoder();
    const next = (): Uint8Array | null => readSome(stream, patienceMs());
    for (let bytes = next(); bytes !== null; bytes = next()) {
      const piece = decoder.decode(bytes, { stream: true });
      if (piece !== '') yield piece;
    }
    const rest = decoder.decode();
    if (rest !== '') yield rest;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#body?.stream[Symbol.dispose]();
    this.#body?.body[Symbol.dispose]();
    this.#response[Symbol.dispose]();
  }
}

/** The next bytes, null at the end and when none have come in time. */
function readSome(stream: InputStream, patienceMs: number | null): Uint8Array | null {
  if (patienceMs !== null && (patienceMs <= 0 || !isReadyWithin(stream, patienceMs))) return null;
  try {
    return stream.blockingRead(readSize);
  } catch (error) {
    const payload = payloadOf(error);
    if (!isErrorCode(payload)) throw error;
    if (payload.tag === 'closed') return null;
    const reason = isDebuggable(payload.val) ? payload.val.toDebugString() : payload.tag;
    throw brokenResponse(reason);
  }
}

function isReadyWithin(stream: InputStream, milliseconds: number): boolean {
  using arrived = stream.subscribe();
  using elapsed = subscribeDuration(Math.ceil(milliseconds) * 1_000_000);
  return poll([arrived, elapsed]).includes(0);
}

function isDebuggable(value: unknown): value is { toDebugString(): string } {
  return typeof value === 'object' && value !== null && 'toDebugString' in value;
}
