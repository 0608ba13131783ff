/** The HTTP client of commands that ask registries: redirects, proxies, one deadline, progress. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { printable } from '../diagnostics/printable.ts';
import type { Secret } from '../diagnostics/secret.ts';
import { readUpTo } from '../files/read-up-to.ts';
import { exchange, type HttpMethod, type OutgoingBody, RequestRun } from './request-run.ts';
import type { Proxy } from './proxy.ts';
import { lookupWithin, redirectTarget, type RedirectSource } from './redirect-rule.ts';

interface HttpSettings {
  /** For a request in all: its redirects, its body and the body of its answer (D3 "Limits"). */
  readonly timeoutMs?: number;
  /** Aborted when the command is interrupted. */
  readonly signal?: AbortSignal;
  /** The proxy for an address, if it goes through one. */
  readonly proxyFor?: (url: URL) => Proxy | null;
}

interface OutgoingRequest {
  /** Who is asked, for messages. */
  readonly label: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent to the origin of `url` alone, and not even there once a redirect has led elsewhere. */
  readonly key: Secret | null;
  /** How the key is shown; of `Basic`, the key is the encoded pair. `Bearer` when absent. */
  readonly scheme?: 'Bearer' | 'Basic';
  /** Without it `POST` where there is a body, else `GET`. */
  readonly method?: HttpMethod;
  /** A request with a body follows no redirect. */
  readonly body?: OutgoingBody;
  /** The time of the request begins anew with each piece of a body: for what may be large. */
  readonly isPatient?: boolean;
  /** Who named the address: it may lead no further than a redirect of theirs. */
  readonly ledBy?: RedirectSource;
}

const usualTimeoutMs = 30_000;
const maxRedirects = 5;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Sends requests to registries. Every failure on the way is `E-IO-003`; what a status means is up to the caller. */
export class HttpClient {
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #proxyFor: (url: URL) => Proxy | null;

  constructor({ timeoutMs = usualTimeoutMs, signal, proxyFor = () => null }: HttpSettings = {}) {
    this.#proxyFor = proxyFor;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
  }

  /** Whether the command was interrupted: everything that is sent fails then. */
  get isInterrupted(): boolean {
    return this.#signal?.aborted === true;
  }

  /** Waits before another request, and no longer once the command is interrupted. */
  async pause(ms: number): Promise<void> {
    const interruption = this.#signal;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      interruption?.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
      if (this.isInterrupted) resolve(clearTimeout(timer));
    });
  }

  /** The answer, whose body the caller reads or discards. */
  async send(outgoing: OutgoingRequest): Promise<HttpAnswer> {
    const toSend = outgoing.body?.bytes ?? null;
    const { isPatient = false } = outgoing;
    const limits = { timeoutMs: this.#timeoutMs, interruption: this.#signal, isPatient };
    const run = new RequestRun({ label: outgoing.label, toSend, ...limits });
    try {
      return await this.#follow(outgoing, run);
    } catch (error) {
      run.end();
      throw run.fault(error);
    }
  }

  async #follow(outgoing: OutgoingRequest, run: RequestRun): Promise<HttpAnswer> {
    const { label, url, headers = {}, key, scheme = 'Bearer', body } = outgoing;
    const { method = body === undefined ? 'GET' : 'POST' } = outgoing;
    const follows = method === 'GET' || method === 'HEAD';
    let target = url;
    let isOwn = true;
    let source = outgoing.ledBy ?? null;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      isOwn &&= target.origin === url.origin;
      const proxy = this.#proxyFor(target);
      const authorization = isOwn && key !== null ? { authorization: `${scheme} ${key.reveal()}` } : {};
      const message = await exchange({
        url: target,
        method,
        headers: { 'user-agent': 'svc', ...headers, ...authorization },
        body: body ?? null,
        proxy,
        ...(source === null ? {} : { lookup: lookupWithin(source, this.#timeoutMs) }),
        signal: run.signal,
        onSent: (bytes) => run.sent(bytes),
      });
      const { location } = message.headers;
      const address = proxy === null ? (message.socket.remoteAddress ?? null) : null;
      if (!follows || location === undefined || !redirects.has(message.statusCode ?? 0)) {
        return new HttpAnswer(message, run, { label, url: target, address });
      }
      message.destroy();
      source = { label, url: target, address };
      target = redirectTarget(location, source);
    }
    throw new Diagnostic('E-IO-003', `${label} redirects more than ${maxRedirects} times`);
  }
}

/** The answer to a request. Its body is read at most once. */
export class HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly #message: IncomingMessage;
  readonly #run: RequestRun;
  /** Who answered, to judge the addresses that the answer names (`redirectTarget`). */
  readonly from: RedirectSource;

  constructor(message: IncomingMessage, run: RequestRun, from: RedirectSource) {
    this.from = from;
    this.#message = message;
    this.#run = run;
    this.status = message.statusCode ?? 0;
    this.headers = message.headers;
    run.transfer.toReceive = this.size;
  }

  /** What the answer announces; null when it announces nothing. */
  get size(): number | null {
    const { 'content-length': length } = this.headers;
    return length === undefined ? null : Number(length);
  }

  /** The bytes as they came. `E-IO-003` when they end early, take too long, or are encoded in a way nobody asked for. */
  async *body(): AsyncGenerator<Buffer> {
    try {
      const { 'content-encoding': encoding = 'identity' } = this.headers;
      if (encoding.toLowerCase() !== 'identity') {
        const message = `${this.#run.label} answers in the encoding ${printable(encoding)}, which was not asked for`;
        throw new Diagnostic('E-IO-003', message);
      }
      for await (const chunk of this.#message) {
        this.#run.received((chunk as Buffer).length);
        yield chunk as Buffer;
      }
    } catch (error) {
      throw this.#run.fault(error);
    } finally {
      this.discard();
    }
  }

  /** The body as text; null when it is larger than `maxBytes`. */
  async text(maxBytes: number): Promise<string | null> {
    const bytes = await readUpTo(this.body(), maxBytes);
    return bytes?.toString('utf8') ?? null;
  }

  /** Ends the connection; nothing more is read. */
  discard(): void {
    this.#run.end();
    this.#message.destroy();
  }
}
