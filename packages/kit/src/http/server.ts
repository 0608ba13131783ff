/** The HTTP server under a capsule, the referee and the registry. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  announcesBody,
  hygieneRefusal,
  isForeignPage,
  isLoopbackAddress,
  isLoopbackHost,
  tokenCheck,
} from './hygiene.ts';
import { answerBudget, ByteBudget, maxConnections } from './byte-budget.ts';
import {
  announcedTooLarge,
  BodyAborted,
  type KitRequest,
  type KitRequestClass,
  kitRequestClass,
  readStreamed,
} from './kit-request.ts';
import { answerHalfClosed, waitingClient } from './half-closed.ts';
import { type BindAddress, type BindOutcome, listenAt } from './listen.ts';
import { refuseMalformed, refuseTunnel } from './malformed.ts';
import { busy, HttpRefusal, kitRefusal } from './refusal.ts';
import type { Reply } from './reply.ts';
import { type Handler, type RequestHead, type Route, type RouteMatch, RouteTable } from './route.ts';
import type { HttpServerOptions } from './server-options.ts';
import { heldBytes, type SendOptions, sendOverBody, sendReply } from './send-reply.ts';
import { systemClock } from '../system-clock.ts';

const timeLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
} as const;

const stalledClientMs = 60_000;

const maxHeaderBytes = 16 * 1024;

/** For all bodies that are read whole, until they are answered; each may have 64 KiB beside that. */
const bodiesBytes = 64 * 1024 * 1024;

/** Requests of one connection behind an answer that is not written yet. */
const maxWaiting = 100;

/**
 * An HTTP/1.1 server that routes on the request target as sent and lets a handler act only on a sound request (docs/adr/listener.md "What the listener
 * refuses"). It sends no CORS permission and takes no request of a foreign web page. On a loopback address it answers to loopback names alone. A request that
 * was sent behind another one has its handler once the answer to that one is written; a connection with more than 100 such requests is cut, and nothing
 * behind them is handed on. One on which a request was refused before it was known who asks closes. A client that ends its half of the connection is answered
 * all the same. What bodies and answers of all connections hold has a limit: beyond it the answer is 503. It takes half as many connections as the process
 * may have files open.
 */
export class HttpServer {
  readonly #server: Server<KitRequestClass>;
  readonly #routes: RouteTable;
  readonly #admits: HttpServerOptions['admits'] | null;
  readonly #onBug: (error: unknown) => void;
  readonly #sendDate: boolean;
  readonly #anyHost: boolean;
  readonly #options: Pick<HttpServerOptions, 'admit' | 'onWrongToken' | 'holderOf'>;
  readonly #renderRefusal: (refusal: HttpRefusal) => Reply;
  readonly #onAnswered: HttpServerOptions['onAnswered'];
  readonly #reply: SendOptions;
  readonly #lastReply: SendOptions;
  readonly #bodies = new ByteBudget(bodiesBytes);
  readonly #wholeBodyMs: number | null;
  readonly #answers: ByteBudget;
  /** Connections that end with an answer that is written or being written: what follows there is not looked at. */
  readonly #ending = new Set<Socket>();
  /** The answer that ends with its connection: what is asked behind it can never be answered. */
  readonly #streams = new WeakMap<Socket, ServerResponse>();
  /** How many requests wait for the answers before theirs; only connections on which any ever did are here. */
  readonly #waiting = new WeakMap<Socket, number>();
  #onLoopback = false;
  #closing = false;

  constructor(options: HttpServerOptions) {
    this.#routes = new RouteTable(options.routes);
    this.#admits = options.admits ?? (options.token === null ? null : tokenCheck(options.token));
    this.#onBug = options.onBug;
    this.#sendDate = options.sendDate ?? true;
    this.#anyHost = options.anyHost ?? false;
    this.#options = options;
    this.#renderRefusal = options.renderRefusal ?? (({ reply }) => reply);
    this.#onAnswered = options.onAnswered;
    this.#answers = options.answers ?? answerBudget();
    const { requestTimeoutMs = timeLimits.requestTimeout, wholeBodyMs = timeLimits.requestTimeout } = options;
    this.#wholeBodyMs = requestTimeoutMs === 0 ? wholeBodyMs : null;
    const { onBug, stalledMs = stalledClientMs } = options;
    this.#reply = { last: false, stalledMs, onBug };
    this.#lastReply = { last: true, stalledMs, onBug };
    this.#server = createServer({
      IncomingMessage: kitRequestClass(),
      ...timeLimits,
      requestTimeout: requestTimeoutMs,
      maxHeaderSize: maxHeaderBytes,
      insecureHTTPParser: false,
      // Node would answer each request without one by itself, however many wait there.
      requireHostHeader: false,
    });
    answerHalfClosed(this.#server);
    // Beyond it a connection is closed as soon as it is there. It is found out for the first one, since every start makes a server.
    this.#server.once('connection', () => {
      this.#server.maxConnections = options.maxConnections ?? maxConnections();
    });
    if (options.onConnection !== undefined) this.#server.on('connection', options.onConnection);
    this.#server.on('request', (request, response) => this.#accept(request, response, 'nothing'));
    this.#server.on('checkContinue', (request, response) => this.#accept(request, response, 'continue'));
    this.#server.on('checkExpectation', (request, response) => this.#accept(request, response, 'other'));
    this.#server.on('connect', refuseTunnel);
    this.#server.on('clientError', (error: NodeJS.ErrnoException, connection) => {
      if (!this.#endsAfterAnswer(error, connection))
        refuseMalformed(error, connection, (connection as Connection)[current]);
    });
  }

  /** Binds once. Whatever the system has against the address is an outcome. */
  bind({ address, port }: BindAddress): Promise<BindOutcome> {
    return new Promise((resolve) => {
      const refuse = ({ code }: NodeJS.ErrnoException): void => {
        resolve(code === 'EADDRINUSE' ? { kind: 'port-taken' } : { kind: 'refused', reason: code ?? 'unknown' });
      };
      this.#server.once('error', refuse);
      this.#server.once('listening', () => {
        this.#server.off('error', refuse);
        const bound = this.#server.address() as AddressInfo;
        this.#onLoopback = isLoopbackAddress(bound.address);
        resolve({ kind: 'bound', address: bound.address, port: bound.port });
      });
      listenAt(this.#server, { host: address, port });
    });
  }

  /** Takes no new connection, lets running answers end for `graceMs`, then cuts what is left. Harmless when repeated or never bound. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    const cut = setTimeout(() => this.#server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(cut);
  }

  #accept(request: KitRequest, response: ServerResponse, expects: Expected): void {
    if (this.#ending.size > 0 && this.#ending.has(request.socket)) {
      this.#countWaiting(request.socket);
      return;
    }
    const stream = this.#streams.get(request.socket);
    if (stream !== undefined) {
      // Once the stream has begun the connection is dropped: a client that goes on asking would pile up requests.
      if (stream.headersSent) request.socket.destroy();
      else this.#countWaiting(request.socket);
      return;
    }
    if (response.socket === null) {
      this.#wait(request.socket, response, () => this.#accept(request, response, expects));
      return;
    }
    (request.socket as Connection)[current] = response;
    this.#watch(request, response);
    if (!this.#sendDate) response.sendDate = false;
    const target = request.url ?? '';
    const mark = target.indexOf('?');
    const path = mark === -1 ? target : target.slice(0, mark);
    const match = this.#routes.find(request.method ?? '', path);
    const query = mark === -1 ? '' : target.slice(mark + 1);
    const exchange = { request, response, path, query, expectsContinue: expects === 'continue' };
    const unsound = this.#unsound(request, expects);
    // Who comes at a bad time may ask again.
    if (unsound !== undefined && unsound.status !== 503) this.#endWith(request.socket);
    // An answer must not show whether somebody was asked for it.
    const isRead = request.complete;
    const isOpen = match.kind === 'route' && match.route.open === true;
    const admitted = unsound !== undefined || isOpen || (this.#admits?.(request.headers) ?? true);
    if (!(admitted instanceof Promise)) {
      this.#proceed(exchange, match, unsound ?? this.#permit(request, match, admitted));
      return;
    }
    admitted
      .then((isAdmitted) => {
        // Nobody waits any more, and what comes of the body would be held for nobody.
        if (!request.socket.destroyed) this.#proceed(exchange, match, this.#permit(request, match, isAdmitted), isRead);
      })
      .catch((error: unknown) => this.#failed(request, response, error));
  }

  #proceed(exchange: Exchange, match: RouteMatch, route: Route | HttpRefusal, isRead?: boolean): void {
    if (!(route instanceof HttpRefusal)) return this.#serve(route, exchange);
    if (match.kind === 'route') match.route.onRefused?.(exchange.path, route);
    this.#send(exchange.request, exchange.response, this.#renderRefusal(route), isRead);
  }

  /** What a client has asked for and does not read must not hold files, connections and bodies. */
  #wait(connection: Socket, response: ServerResponse, serve: () => void): void {
    if (!this.#countWaiting(connection)) return;
    response.once('socket', () => {
      this.#waiting.set(connection, (this.#waiting.get(connection) ?? 1) - 1);
      // Node assigns the socket to the response before it is ready to be written.
      queueMicrotask(() => {
        if (!connection.destroyed) serve();
      });
    });
  }

  /** False where there are too many, and the connection is cut. */
  #countWaiting(connection: Socket): boolean {
    const waiting = (this.#waiting.get(connection) ?? 0) + 1;
    this.#waiting.set(connection, waiting);
    if (waiting > maxWaiting) connection.destroy();
    return waiting <= maxWaiting;
  }

  /** The answer that comes now is the last one of the connection. */
  #endWith(connection: Socket): void {
    if (this.#ending.has(connection)) return;
    this.#ending.add(connection);
    connection.once('close', () => this.#ending.delete(connection));
  }

  /** Whether a whole request is being handled before what is malformed: what it does must not be answered as if it had not been done. */
  #endsAfterAnswer({ code = '' }: NodeJS.ErrnoException, connection: Duplex): boolean {
    const response = (connection as Connection)[current];
    const isHandled = response !== undefined && response.socket !== null && response.req.complete;
    if (!isHandled || response.headersSent || connection.destroyed || !code.startsWith('HPE_')) return false;
    response.shouldKeepAlive = false;
    return true;
  }

  #watch(request: IncomingMessage, response: ServerResponse): void {
    const tell = this.#onAnswered;
    if (tell === undefined) return;
    const { socket, method = '', url: target = '', headers } = request;
    const startedMs = systemClock.monotonicMs();
    const sentBefore = socket.bytesWritten;
    response.once('close', () => {
      const sentBytes = socket.bytesWritten - sentBefore;
      const status = response.headersSent ? response.statusCode : null;
      tell({ method, target, status, sentBytes, ms: systemClock.monotonicMs() - startedMs }, headers);
    });
  }

  /** Why a request of any sender is refused. */
  #unsound(request: IncomingMessage, expects: Expected): HttpRefusal | undefined {
    if (expects === 'other') return kitRefusal('expectation_failed', 'Only 100-continue can be expected.');
    const unsound = hygieneRefusal(request);
    if (unsound !== undefined) return unsound;
    const unwanted = this.#options.admit?.(request);
    if (unwanted !== undefined) return unwanted;
    const { host } = request.headers;
    if (this.#onLoopback && !this.#anyHost && host !== undefined && !isLoopbackHost(host)) {
      return kitRefusal('host_refused', 'This address answers to localhost and loopback addresses only.');
    }
    if (!this.#anyHost && isForeignPage(request.headers)) {
      return kitRefusal('page_refused', 'Requests of web pages are not taken.');
    }
    return undefined;
  }

  /** The route that may handle the request, or why none does. Nothing of the body is read for it. */
  #permit(request: IncomingMessage, match: RouteMatch, isAdmitted: boolean): Route | HttpRefusal {
    if (!isAdmitted) {
      const { authorization } = request.headers;
      if (authorization !== undefined) this.#options.onWrongToken?.(authorization);
      this.#endWith(request.socket);
      return kitRefusal('unauthorized', 'A valid bearer token is required.', { 'www-authenticate': 'Bearer' });
    }
    if (match.kind === 'none') return kitRefusal('not_found', 'Nothing is served at this path.');
    if (match.kind === 'method-not-served') {
      return kitRefusal('method_not_allowed', `This path takes ${match.allow}.`, { allow: match.allow });
    }
    const { route } = match;
    return route.body === 'unread' ? route : (announcedTooLarge(request, route.maxBytes) ?? route);
  }

  #serve(route: Route, exchange: Exchange): void {
    const { request, response, path, query, expectsContinue } = exchange;
    const { method = '', headers } = request;
    if (route.body === 'unread') {
      this.#answer(exchange, route.handle, { method, path, query, headers, client: waitingClient(response) });
    } else if (route.body === 'streamed') {
      const onFirstRead = (): void => {
        if (expectsContinue) response.writeContinue();
      };
      const body = readStreamed(request, route.maxBytes, onFirstRead);
      this.#answer(exchange, route.handle, { method, path, query, headers, body });
    } else if (announcesBody(request)) {
      if (expectsContinue) response.writeContinue();
      // Once it has the body, the handler holds it until it answers, also when nobody waits for that any more.
      let isHandedOver = false;
      const take = (body: Buffer | HttpRefusal): void => {
        isHandedOver = true;
        if (body instanceof HttpRefusal) this.#refuse(request, response, body);
        else this.#answer(exchange, route.handle, { method, path, query, headers, body, release });
      };
      const release = (): void => request.release();
      const onCounted = (): void =>
        void response.once('close', () => {
          if (!isHandedOver) request.release();
        });
      request.readWhole({
        maxBytes: route.maxBytes,
        budget: this.#bodies,
        holder: () => this.#options.holderOf?.(headers) ?? null,
        maxMs: this.#wholeBodyMs,
        onCounted,
        take,
      });
    } else {
      this.#answer(exchange, route.handle, { method, path, query, headers, body: noBody, release: () => {} });
    }
  }

  #answer<Served extends RequestHead>(exchange: Exchange, handle: Handler<Served>, served: Served): void {
    const { request, response } = exchange;
    try {
      const reply = handle(served);
      if (!(reply instanceof Promise)) {
        this.#send(request, response, reply);
        return;
      }
      reply
        .then((settled) => this.#send(request, response, settled))
        .catch((error: unknown) => this.#failed(request, response, error));
    } catch (error) {
      this.#failed(request, response, error);
    }
  }

  #failed(request: KitRequest, response: ServerResponse, error: unknown): void {
    request.release();
    if (error instanceof BodyAborted) return;
    if (error instanceof HttpRefusal) {
      this.#refuse(request, response, error);
      return;
    }
    if (response.headersSent) response.destroy();
    else this.#refuse(request, response, kitRefusal('internal_error', 'The server failed to answer.'));
    this.#onBug(error);
  }

  #refuse(request: KitRequest, response: ServerResponse, refusal: HttpRefusal): void {
    this.#send(request, response, this.#renderRefusal(refusal));
  }

  #send(request: KitRequest, response: ServerResponse, given: Reply, isRead = request.complete): void {
    request.release();
    const reply = this.#mayHold(response, given) ? given : this.#renderRefusal(busy());
    const { socket } = request;
    if (isRead || !announcesBody(request)) {
      const isLast = this.#closing || this.#ending.has(socket);
      sendReply(response, reply, isLast ? this.#lastReply : this.#reply);
    } else {
      this.#endWith(socket);
      sendOverBody(response, reply, this.#lastReply);
    }
    // A stream that was refused as it began has thrown.
    if (reply.kind !== 'stream') return;
    this.#streams.set(socket, response);
    if ((this.#waiting.get(socket) ?? 0) > 0) socket.destroy();
  }

  /** A client that does not read what it asked for must not fill the memory with answers. */
  #mayHold(response: ServerResponse, reply: Reply): boolean {
    const bytes = heldBytes(reply);
    if (bytes === 0) return true;
    const holder = this.#options.holderOf?.(response.req.headers) ?? null;
    if (!this.#answers.take(bytes, holder)) return false;
    response.once('close', () => this.#answers.giveBack(bytes, holder));
    return true;
  }
}

/** The answer to the request of a connection that was handed on last. In a `WeakMap`, every closed connection would outlive the next collections. */
const current = Symbol('current answer');

type Connection = Duplex & { [current]?: ServerResponse };

/** What a request expects in its `Expect` header. */
type Expected = 'nothing' | 'continue' | 'other';

interface Exchange {
  readonly request: KitRequest;
  readonly response: ServerResponse;
  readonly path: string;
  readonly query: string;
  readonly expectsContinue: boolean;
}

const noBody = Buffer.alloc(0);
