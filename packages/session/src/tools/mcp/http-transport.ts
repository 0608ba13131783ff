/** Speaks the Model Context Protocol with a server on the web: the transport "Streamable HTTP" of its revisions 2025-03-26 to 2026-07-28. */

import type { IncomingMessage } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';

import type * as Sdk from '@modelcontextprotocol/client';
import type { Connections } from '@svc/kit/net/connections.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import type { Digits } from '@svc/kit/exact-json.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import { FrameReader } from '@svc/protocol/frame-reader.ts';
import { isJsonObject } from '@svc/protocol/json-object.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { headerOf, shownText } from './http-words.ts';
import { KeptDigits } from './kept-digits.ts';
import { lostError, messagesIn } from './meant-messages.ts';
import { RequestSlots } from './request-slots.ts';
import type { ProtocolSdk, ServerTransport } from './server-connection.ts';
import {
  NoToken,
  type ServerRequest,
  ServerRequests,
  type ServerTokens,
  type ServerTraffic,
} from './server-requests.ts';

/** The bytes of an answer, or of all that comes with it in one stream. */
const maxAnswerBytes = 16 * 1024 * 1024;
/** How many values one message may hold: a limit on bytes alone would let empty objects take fifty times their size. */
const maxMessageValues = 262_144;
/** Messages in one stream that answer nothing. */
const maxUnasked = 10_000;
/** Requests to one server at a time. */
const maxAtOnce = 8;
/** The wait before a stream is asked for again, within these bounds of what the server says. */
const [leastRetryMs, usualRetryMs, mostRetryMs] = [100, 1000, 30_000];
const maxResumed = 1000;
const farewellMs = 2000;

const sessionHeader = 'mcp-session-id';
const versionHeader = 'mcp-protocol-version';
/** Where a request says which revision it is written in, since 2026-07-28. */
const versionKey = 'io.modelcontextprotocol/protocolVersion';

export interface HttpTransportSettings {
  readonly url: URL;
  /** Closed with the transport. */
  readonly connections: Connections;
  /** What each request shows, such as `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The login that each request shows a token of besides. */
  readonly tokens?: ServerTokens;
  readonly traffic?: ServerTraffic;
  readonly sdk: Pick<ProtocolSdk, 'SdkHttpError' | 'SdkErrorCode'>;
  /** Called when the server announces that its list of tools changed. */
  readonly onListChanged: () => void;
}

/** How far a stream has been read, over all its connections. */
interface StreamPlace {
  lastId: string | null;
  retryMs: number;
  bytes: number;
  unasked: number;
}

/**
 * One session with a server: each message is a request of its own, whose answer is JSON or a stream of events. A stream that ends before its answer fails
 * the call at once, and nothing is sent twice. No stream is kept open for a server that has nothing to say.
 */
export class HttpTransport implements ServerTransport {
  readonly hasPerRequestStream = true;
  onclose: Sdk.Transport['onclose'];
  onerror: Sdk.Transport['onerror'];
  onmessage: Sdk.Transport['onmessage'];
  readonly #settings: HttpTransportSettings;
  readonly #requests: ServerRequests;
  readonly #closing = new AbortController();
  /** Requests that have no answer yet: their methods, and what ends their streams. */
  readonly #asked = new Map<Sdk.RequestId, { readonly method: string; readonly abort: AbortController }>();
  readonly #slots = new RequestSlots(maxAtOnce);
  readonly #digits = new KeptDigits();
  #sessionId: string | null = null;
  #version: string | null = null;
  #hasGreeted = false;
  #isExpired = false;
  /** What went wrong before the server was known; afterwards each call has its own failure. */
  #fault: string | null = null;

  constructor(settings: HttpTransportSettings) {
    this.#settings = settings;
    this.#requests = new ServerRequests(settings);
  }

  get isExpired(): boolean {
    return this.#isExpired;
  }

  get isOpen(): boolean {
    return !this.#isExpired && !this.#closing.signal.aborted;
  }

  get fault(): string | null {
    return this.#hasGreeted ? null : this.#fault;
  }

  readonly hints: readonly string[] = [];

  takeRefused(): readonly string[] {
    return [];
  }

  hiddenIn(): null {
    return null;
  }

  keepDigits(args: object, digits: Digits): void {
    this.#digits.keep(args, digits);
  }

  setProtocolVersion(version: string): void {
    this.#version = version;
    this.#hasGreeted = true;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Settles when the server has the message, and of a request when its answer has begun; the answer comes by `onmessage`. */
  async send(message: Sdk.JSONRPCMessage, options: Sdk.TransportSendOptions = {}): Promise<void> {
    if (!('method' in message && 'id' in message)) {
      // Before anything is waited for: a place that comes free goes to a call that is still wanted.
      this.#endCanceled(message);
      (await this.#exchange(message, new AbortController())).resume();
      return;
    }
    const abort = new AbortController();
    const onAbort = (): void => abort.abort();
    options.requestSignal?.addEventListener('abort', onAbort, { once: true });
    if (options.requestSignal?.aborted === true) onAbort();
    this.#asked.set(message.id, { method: message.method, abort });
    let release = (): void => {};
    try {
      release = await this.#slots.take(abort.signal);
      const response = await this.#exchange(message, abort);
      void this.#read(response, message.id)
        .catch((error: unknown) => this.#lose(message.id, error))
        .finally(release);
    } catch (error) {
      release();
      this.#asked.delete(message.id);
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    if (this.#sessionId !== null && !this.#isExpired) await this.#sayFarewell();
    this.#closing.abort();
    for (const { abort } of this.#asked.values()) abort.abort();
    this.#settings.connections.close();
    this.onclose?.();
  }

  /** A server without sessions answers 405, and one that is gone nothing. */
  async #sayFarewell(): Promise<void> {
    const signal = AbortSignal.timeout(farewellMs);
    try {
      const response = await this.#post({
        url: this.#settings.url,
        method: 'DELETE',
        headers: this.#headersFor(null),
        body: '',
        signal,
      });
      response.destroy();
    } catch (error) {
      const isExpected = error instanceof this.#settings.sdk.SdkHttpError || error instanceof NoToken;
      if (!signal.aborted && !isNetworkError(error) && !isExpected) throw error;
    }
  }

  /** The answer of the server, whose status is that of a success. */
  async #exchange(message: Sdk.JSONRPCMessage, abort: AbortController): Promise<IncomingMessage> {
    const onClosing = (): void => abort.abort();
    this.#closing.signal.addEventListener('abort', onClosing, { once: true });
    try {
      const post = {
        url: this.#settings.url,
        method: 'POST',
        headers: this.#headersFor(message),
        body: this.#digits.textOf(message),
        signal: abort.signal,
      } as const;
      const response = await this.#post(post);
      const isGreeting = 'method' in message && message.method === 'initialize';
      if (isGreeting) this.#sessionId = headerOf(response, sessionHeader);
      return response;
    } catch (error) {
      if (abort.signal.aborted) throw this.#failed('was left before it answered');
      if (error instanceof NoToken) throw this.#failed(error.message);
      if (error instanceof this.#settings.sdk.SdkHttpError || !isNetworkError(error)) throw error;
      throw this.#failed(`could not be asked: ${networkReason(error)}`);
    } finally {
      this.#closing.signal.removeEventListener('abort', onClosing);
    }
  }

  #headersFor(message: Sdk.JSONRPCMessage | null): Readonly<Record<string, string>> {
    const params = message !== null && 'params' in message ? message.params : undefined;
    const claimed = params?._meta?.[versionKey];
    const isModern = typeof claimed === 'string' && message !== null && 'method' in message;
    const version = isModern ? claimed : this.#version;
    const name = params?.['name'];
    return {
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
      ...this.#settings.headers,
      ...(message === null ? {} : { 'content-type': 'application/json' }),
      ...(version === null ? {} : { [versionHeader]: version }),
      ...(this.#sessionId === null || isModern ? {} : { [sessionHeader]: this.#sessionId }),
      ...(isModern ? { 'mcp-method': message.method } : {}),
      ...(isModern && message.method === 'tools/call' && typeof name === 'string' ? { 'mcp-name': name } : {}),
    };
  }

  async #post(request: ServerRequest): Promise<IncomingMessage> {
    try {
      return await this.#requests.send(request);
    } catch (error) {
      if (!(error instanceof this.#settings.sdk.SdkHttpError)) throw error;
      // A session that the server does not know any more is over: the next call begins another.
      if (error.status === 404 && this.#sessionId !== null) this.#isExpired = true;
      throw this.#fail(error);
    }
  }

  #failed(happened: string): Error {
    return this.#fail(new Error(happened));
  }

  #fail(error: Error): Error {
    this.#fault = error.message;
    return error;
  }

  /** Reads the answer to a request, and what comes before it. */
  async #read(response: IncomingMessage, id: Sdk.RequestId): Promise<void> {
    const type = (headerOf(response, 'content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
    const encoding = headerOf(response, 'content-encoding') ?? 'identity';
    if (encoding.toLowerCase() !== 'identity') throw this.#failed('answered in an encoding that was not asked for');
    if (type === 'text/event-stream') await this.#readStream(response, id);
    else if (type === 'application/json') await this.#readWhole(response);
    else
      throw this.#failed(
        `answered with ${type === '' ? 'no content type' : printable(type)} where JSON or a stream of events was asked for`,
      );
    if (this.#asked.has(id))
      throw this.#failed('ended its answer before the call was answered, which may have been carried out');
  }

  async #readWhole(response: IncomingMessage): Promise<void> {
    const bytes = await readUpTo(response, maxAnswerBytes);
    response.destroy();
    if (bytes === undefined) throw this.#failed(tooLarge);
    this.#take(bytes.toString('utf8'));
  }

  /**
   * Up to the answer: some servers keep the stream open behind it. One that ends before, and whose events have ids, is asked for where it went on: a
   * server may close it while the work goes on (revision 2025-11-25, "Resumability and Redelivery").
   */
  async #readStream(response: IncomingMessage, id: Sdk.RequestId): Promise<void> {
    const place: StreamPlace = { lastId: null, retryMs: usualRetryMs, bytes: 0, unasked: 0 };
    let stream: IncomingMessage | null = response;
    for (let resumed = 0; stream !== null; resumed += 1) {
      const broken = await this.#readEvents(stream, id, place);
      const asked = this.#asked.get(id);
      if (asked === undefined) return;
      if (place.lastId === null || resumed === maxResumed) {
        if (broken !== null) throw broken;
        return;
      }
      await after(place.retryMs, undefined, { signal: asked.abort.signal });
      stream = await this.#resumed(place.lastId, asked.abort.signal);
    }
  }

  /** Returns the error of the connection that ended it, and null for another end. */
  async #readEvents(stream: IncomingMessage, id: Sdk.RequestId, place: StreamPlace): Promise<Error | null> {
    const reader = new FrameReader(maxAnswerBytes);
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        place.bytes += piece.length;
        if (place.bytes > maxAnswerBytes) throw this.#failed(tooLarge);
        for (const { id: eventId, event, data } of reader.read(piece)) {
          place.lastId = eventId ?? place.lastId;
          if (event !== 'message' || data === '') continue;
          if (!this.#take(data)) place.unasked += 1;
          if (place.unasked > maxUnasked)
            throw this.#failed(`sent more than ${maxUnasked} messages that nobody asked for`);
        }
        if (!this.#asked.has(id)) return null;
      }
    } catch (error) {
      if (!isNetworkError(error)) throw error;
      return error;
    } finally {
      place.retryMs = Math.min(Math.max(reader.retryMs ?? usualRetryMs, leastRetryMs), mostRetryMs);
    }
    return null;
  }

  /** The rest of a stream; null where the server does not give it. */
  async #resumed(lastId: string, signal: AbortSignal): Promise<IncomingMessage | null> {
    const { sdk } = this.#settings;
    const headers = { ...this.#headersFor(null), accept: 'text/event-stream', 'last-event-id': lastId };
    try {
      return await this.#post({ url: this.#settings.url, method: 'GET', headers, body: '', signal });
    } catch (error) {
      if (error instanceof sdk.SdkHttpError || isNetworkError(error)) return null;
      throw error;
    }
  }

  /** Whether a message answers an open request. */
  #take(text: string): boolean {
    const json = parseJsonText(text.replace(/^\uFEFF/, ''), maxMessageValues);
    if (json.kind === 'too-many') throw this.#failed(`sent a message of more than ${maxMessageValues} values`);
    if (json.kind !== 'json') throw this.#failed(`sent what is no message: ${shownText(text)}`);
    const open = new Map([...this.#asked].map(([id, { method }]) => [id, method]));
    let isAnswer = false;
    for (const message of messagesIn(json.value, open)) {
      if (!isJsonObject(message)) continue;
      const { id, method } = message;
      if (method === 'notifications/tools/list_changed') this.#settings.onListChanged();
      else if (method === undefined && (typeof id === 'string' || typeof id === 'number'))
        isAnswer = this.#asked.delete(id) || isAnswer;
      if (method === undefined || id !== undefined || method === 'notifications/progress')
        this.onmessage?.(message as Sdk.JSONRPCMessage);
    }
    return isAnswer;
  }

  /** Fails a call whose answer will not come. */
  #lose(id: Sdk.RequestId, error: unknown): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (asked === undefined || asked.abort.signal.aborted) return;
    if (!(error instanceof Error)) throw error;
    const happened = isNetworkError(error)
      ? `broke off its answer, and the call may have been carried out: ${networkReason(error)}`
      : error.message;
    asked.abort.abort();
    this.onmessage?.({ jsonrpc: '2.0', id, error: lostError(happened) });
  }

  /** The client that cancels a request waits for its answer no longer, and nobody reads the stream of it. */
  #endCanceled(message: Sdk.JSONRPCMessage): void {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return;
    const id = message.params?.['requestId'];
    if (typeof id !== 'string' && typeof id !== 'number') return;
    this.#asked.get(id)?.abort.abort();
    this.#asked.delete(id);
  }
}

const tooLarge = `sent more than ${maxAnswerBytes} bytes in one answer`;
