/** Carries out one HTTP request for a component, on the side of the session. */

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';

import type { AnswerGuard } from '@svc/kit/keys/bound-host.ts';
import type { ComponentGrants, ExchangeSign } from '../component.ts';
import {
  httpErrorCode,
  type HttpErrorCode,
  type HeadAnswer,
  type ReadAnswer,
  type RequestBodyStart,
  type RequestHead,
  type WriteAnswer,
} from './remote-messages.ts';
import { type RequestPlan, targetOf } from './request-plan.ts';
import { SecretMask, TextWatch } from './secret-mask.ts';

const defaultConnectTimeoutMs = 30_000;
const largestResponseHead = 256 * 1024;
/** For a request that its server has answered and does not take on: the rest waits for the server. */
const maxUnsentBytes = 1024 * 1024;
const noBytes: Buffer = Buffer.alloc(0);

/** Starts a request on a connection of the right kind. */
type SendRequest = (url: URL, options: RequestOptions) => ClientRequest;

/** Who hears of a request. */
type ExchangeWatch = {
  readonly [Name in 'onExchange' | 'onTraffic' | 'onRefused']?: ComponentGrants[Name] | undefined;
};

/** What a request fails with whose destination is not granted, or whose name leads to an address that is not. */
const notGranted: ReadonlySet<string> = new Set(['HTTP-request-denied', 'destination-IP-prohibited']);

type Timeouts = Pick<RequestHead, 'connectTimeoutMs' | 'firstByteTimeoutMs' | 'betweenBytesTimeoutMs'>;

/**
 * One request and its response, on the session's side. The request goes out as it is written and the response is read no faster
 * than it is asked for. Every failure is kept and answers the next call; nothing here rejects.
 */
export class OutboundExchange {
  #request: ClientRequest | null = null;
  #response: IncomingMessage | null = null;
  #failure: HttpErrorCode | null = null;
  #ended = false;
  /** The guest has let go of it: what becomes of it now is no failure. */
  #closed = false;
  #sentBytes = 0;
  /** What the guard gives out of them; null without one. */
  #headers: readonly (readonly [string, Buffer])[] | null = null;
  #timer: NodeJS.Timeout | undefined;
  readonly #plan: RequestPlan | null;
  readonly #timeouts: Timeouts;
  readonly #watch: TextWatch | null;
  readonly #watched: ExchangeWatch;
  #receivedBytes = 0;
  #isTold = false;
  /** Its host has led to an address at which clouds give keys to any program. */
  #isMetadata = false;
  readonly #mask: SecretMask | null;
  /** Cuts an answer that has the key of its host in it. */
  readonly #guard: AnswerGuard | null;
  readonly #listeners = new Set<() => void>();

  private constructor(plan: RequestPlan | null, timeouts: Timeouts, watch: ExchangeWatch = {}) {
    this.#plan = plan;
    this.#timeouts = timeouts;
    this.#watched = watch;
    this.#watch = plan?.forbiddenText == null ? null : new TextWatch(plan.forbiddenText);
    this.#mask = plan?.secret == null ? null : new SecretMask(plan.secret.reveal());
    this.#guard = plan?.bound?.openGuard() ?? null;
  }

  /** An exchange that was over before it began. */
  static refused(error: HttpErrorCode): OutboundExchange {
    const none = { connectTimeoutMs: null, firstByteTimeoutMs: null, betweenBytesTimeoutMs: null };
    const exchange = new OutboundExchange(null, none);
    exchange.#failure = error;
    return exchange;
  }

  static start(
    plan: RequestPlan,
    {
      timeouts,
      body,
      send,
      watch,
    }: {
      readonly timeouts: Timeouts;
      readonly body: RequestBodyStart;
      readonly send: SendRequest;
      readonly watch?: ExchangeWatch;
    },
  ): OutboundExchange {
    const exchange = new OutboundExchange(plan, timeouts, watch);
    if (exchange.#watch?.sees(body.bytes) === true) exchange.#failure = { tag: 'HTTP-request-denied' };
    else exchange.#send(plan, body, send);
    return exchange;
  }

  #tell(sign: ExchangeSign): void {
    this.#watched.onExchange?.(sign);
  }

  #send(plan: RequestPlan, body: RequestBodyStart, send: SendRequest): void {
    this.#tell({ kind: 'started', host: plan.url.host });
    const request = send(plan.url, {
      method: plan.method,
      path: targetOf(plan),
      setHost: false,
      maxHeaderSize: largestResponseHead,
    });
    this.#request = request;
    for (const [name, value] of plan.headers) request.appendHeader(name, value);
    // A proxy is asked before there is a socket.
    this.#limit(this.#timeouts.connectTimeoutMs ?? defaultConnectTimeoutMs, 'connection-timeout');
    request.on('socket', (socket) => {
      // A connection that was kept alive never connects again: what waited for that would stay with it.
      if (request.reusedSocket) return this.#connected();
      socket.once(plan.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => this.#connected());
    });
    request.on('response', (response) => this.#receive(response));
    request.on('error', (error) => {
      this.#isMetadata = 'isMetadata' in error && error.isMetadata === true;
      this.#fail(httpErrorCode(error));
    });
    request.on('close', () => {
      // With a response there is a body to read still; the response shows how that ends.
      if (this.#response === null) this.#fail({ tag: 'HTTP-protocol-error' });
    });
    this.#sentBytes = body.bytes.length;
    if (body.finished) request.end(body.bytes);
    else if (body.bytes.length > 0) request.write(body.bytes);
    else request.flushHeaders();
  }

  #connected(): void {
    if (this.#response === null) this.#limit(this.#timeouts.firstByteTimeoutMs, 'HTTP-response-timeout');
  }

  #receive(response: IncomingMessage): void {
    this.#tell({ kind: 'answered', status: response.statusCode ?? 0 });
    const coding = response.headers['content-encoding'] ?? 'identity';
    // It was asked for as it is. In another form the key could be in it unseen.
    if ((this.#mask !== null || this.#guard !== null) && coding.toLowerCase() !== 'identity')
      return this.#fail({ tag: 'HTTP-response-content-coding', val: coding });
    if (!this.#passHeaders(response)) return;
    this.#response = response;
    const restart = (): void => this.#limit(this.#timeouts.betweenBytesTimeoutMs, 'connection-read-timeout');
    restart();
    response.on('readable', () => {
      restart();
      this.#tell({ kind: 'bytes' });
      // The end shows itself only to a read.
      if (response.readableLength === 0) response.read();
      this.#changed();
    });
    response.on('end', () => {
      this.#ended = true;
      this.#tellOver();
      this.#limit(null, 'connection-read-timeout');
      this.#changed();
    });
    response.on('error', (error) => this.#fail(this.#bodyFailure(error)));
    this.#changed();
  }

  #bodyFailure(error: Error): HttpErrorCode {
    const code = httpErrorCode(error);
    return code.tag === 'connection-terminated' ? { tag: 'HTTP-response-incomplete' } : code;
  }

  /** At most one limit runs at a time; a null one stops the one before. */
  #limit(ms: number | null, tag: 'connection-timeout' | 'HTTP-response-timeout' | 'connection-read-timeout'): void {
    clearTimeout(this.#timer);
    this.#timer = ms === null ? undefined : setTimeout(() => this.#fail({ tag }), ms);
  }

  /** Only the first failure counts, and one after the end of the response does not. */
  #fail(error: HttpErrorCode): void {
    if (this.#failure !== null || this.#ended) return;
    this.#failure = error;
    this.#tellOver();
    if (!this.#closed) this.#tell(failedOf(error));
    clearTimeout(this.#timer);
    this.#request?.destroy();
    this.#changed();
  }

  /** Once, as the exchange ends in one way or another. */
  #tellOver(): void {
    if (this.#isTold || this.#plan === null) return;
    this.#isTold = true;
    const { url } = this.#plan;
    if (this.#failure !== null && notGranted.has(this.#failure.tag))
      return this.#watched.onRefused?.(url, undefined, this.#isMetadata);
    this.#watched.onTraffic?.({ url, bytesIn: this.#receivedBytes, bytesOut: this.#sentBytes });
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Calls with every change until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Settles with the next change. */
  async changed(): Promise<void> {
    let stop = (): void => {};
    await new Promise<void>((resolve) => {
      stop = this.onChange(resolve);
    });
    stop();
  }

  /** Bytes of the request that wait here until the server takes them. */
  get unsentBytes(): number {
    return this.#request?.writableLength ?? 0;
  }

  /** Settles once the bytes are on their way or the exchange has failed. */
  async write(bytes: Uint8Array): Promise<WriteAnswer> {
    const request = this.#request;
    this.#sentBytes += bytes.length;
    if (this.#watch?.sees(bytes) === true) this.#fail({ tag: 'HTTP-request-denied' });
    const limit = this.#plan?.contentLength ?? null;
    if (limit !== null && this.#sentBytes > limit)
      this.#fail({ tag: 'HTTP-request-body-size', val: BigInt(this.#sentBytes) });
    if (this.#failure !== null || request === null) return this.#writeAnswer();
    if (!request.write(bytes) && !request.destroyed) await this.#drained(request);
    // Nobody reads on, and the guest would write for ever.
    if (this.#ended && request.writableLength > maxUnsentBytes) {
      return { kind: 'failed', error: { tag: 'connection-write-timeout' } };
    }
    return this.#writeAnswer();
  }

  /** Until the connection takes more, the server has answered and little waits for it, or nothing more can be sent. */
  async #drained(request: ClientRequest): Promise<void> {
    const isOver = (): boolean => {
      if (this.#failure !== null || this.#ended) return true;
      return this.#response !== null && request.writableLength <= maxUnsentBytes;
    };
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        request.off('drain', done);
        stop();
        resolve();
      };
      const stop = this.onChange(() => {
        if (isOver()) done();
      });
      request.once('drain', done);
    });
  }

  finish(): WriteAnswer {
    const length = this.#plan?.contentLength ?? null;
    if (length !== null && this.#sentBytes !== length) {
      this.#fail({ tag: 'HTTP-request-body-size', val: BigInt(this.#sentBytes) });
    }
    if (this.#failure === null) this.#request?.end();
    return this.#writeAnswer();
  }

  #writeAnswer(): WriteAnswer {
    // A response that came before the body was sent decides; the guest reads it and stops writing by itself.
    return this.#failure === null || this.#response !== null
      ? { kind: 'accepted' }
      : { kind: 'failed', error: this.#failure };
  }

  head(): HeadAnswer {
    if (this.#response !== null) {
      return { kind: 'arrived', status: this.#response.statusCode ?? 0, headers: this.#headersOf(this.#response) };
    }
    return this.#failure === null ? { kind: 'pending' } : { kind: 'failed', error: this.#failure };
  }

  #passHeaders(response: IncomingMessage): boolean {
    if (this.#guard === null) return true;
    this.#headers = this.#passed((guard) => guard.headers(rawHeaders(response)));
    return this.#headers !== null;
  }

  /** What the guard gives out; null when the answer was cut, and nothing more of it reaches the component. */
  #passed<T>(pass: (guard: AnswerGuard) => T | null): T | null {
    const guard = this.#guard;
    if (guard === null) throw new Error('nothing is looked for in this answer');
    let given: T | null = null;
    let words = guard.cutWords;
    try {
      given = pass(guard);
    } catch {
      // Whatever went wrong with the search, the key may be in what was to be searched.
      words = guard.unsearchedWords;
    }
    if (given !== null) return given;
    if (!this.#isTold && this.#plan !== null) this.#watched.onRefused?.(this.#plan.url, guard.rule);
    this.#isTold = true;
    this.#ended = false;
    this.#fail({ tag: 'internal-error', val: words });
    return null;
  }

  #headersOf(response: IncomingMessage): [string, Uint8Array][] {
    if (this.#headers !== null) return this.#headers.map(([name, value]) => [name, value]);
    const headers = rawHeaders(response);
    const mask = this.#mask;
    return mask === null
      ? headers
      : headers.map(([name, value]) => [mask.whole(Buffer.from(name, 'latin1')).toString('latin1'), mask.whole(value)]);
  }

  read(): ReadAnswer {
    const bytes = this.#nextBytes();
    if (bytes.length > 0) return { kind: 'bytes', bytes };
    if (this.#ended) return { kind: 'ended' };
    return this.#failure === null ? { kind: 'pending' } : { kind: 'failed', error: this.#failure };
  }

  /** What has arrived, with the key masked; none where that could still be a part of the key. */
  #nextBytes(): Uint8Array {
    if (this.#guard !== null) return this.#guardedBytes();
    const mask = this.#mask;
    if (mask === null) return this.#arrived() ?? noBytes;
    // A read gives one piece of several on some versions of Node, and no sign comes for those that are left.
    for (let bytes = this.#arrived(); bytes !== null; bytes = this.#arrived()) {
      const masked = mask.next(bytes);
      if (masked.length > 0) return masked;
    }
    return this.#ended ? mask.rest() : noBytes;
  }

  /** What has arrived and cannot be a part of the key; none once the answer was cut or broken off. */
  #guardedBytes(): Uint8Array {
    while (this.#failure === null) {
      const arrived = this.#arrived();
      if (arrived === null) break;
      const given = this.#passed((guard) => guard.next(arrived)) ?? noBytes;
      if (given.length > 0) return given;
    }
    return this.#failure === null && this.#ended ? (this.#passed((guard) => guard.rest()) ?? noBytes) : noBytes;
  }

  #arrived(): Buffer | null {
    const bytes = (this.#response?.read() ?? null) as Buffer | null;
    this.#receivedBytes += bytes?.length ?? 0;
    return bytes;
  }

  /** Whether asking now gets more than `pending`. */
  isReady(event: 'head' | 'body'): boolean {
    if (this.#failure !== null || this.#ended) return true;
    return this.#response !== null && (event === 'head' || this.#response.readableLength > 0);
  }

  /** A connection whose response was not read to its end is not used again. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    if (!this.#ended) this.#request?.destroy();
    this.#fail({ tag: 'connection-terminated' });
  }
}

function rawHeaders({ rawHeaders }: IncomingMessage): [string, Buffer][] {
  const headers: [string, Buffer][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.push([(rawHeaders[at] ?? '').toLowerCase(), Buffer.from(rawHeaders[at + 1] ?? '', 'latin1')]);
  }
  return headers;
}

function failedOf(error: HttpErrorCode): ExchangeSign {
  const failed = { kind: 'failed', error: error.tag } as const;
  return error.tag === 'internal-error' && error.val !== undefined ? { ...failed, words: error.val } : failed;
}
