/** Gives a driver that runs in this process what it needs of the world: requests under the same rules as a component's, and the clock. */

import type { PostRequest } from '@svc/guest/provider/driver-ports.ts';
import { brokenResponse, connectionFailure, RequestFailure } from '@svc/guest/request-failure.ts';
import { pause } from '@svc/kit/clock.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { maxTimerMs } from '@svc/kit/units.ts';
import { canceledCall, ComponentFault } from '../component.ts';
import { type ConnectionRules, maxUnsentBytes, OutboundHttp } from '../outbound/outbound-http.ts';
import type { HeadAnswer, HttpErrorCode, RemoteAnswers, RemoteRequest } from '../outbound/remote-messages.ts';

type Head = Extract<HeadAnswer, { readonly kind: 'arrived' }>;

/** For the end of a body that nobody reads on. */
const endsWithinMs = 50;

/** A response whose head has arrived. */
export interface LiveResponse {
  readonly status: number;
  readonly headers: Head['headers'];
  /** As `ProviderAnswer.read`. */
  read(patienceMs: number | null): Promise<string | null>;
  close(): void;
}

export class LivePorts {
  readonly #http: OutboundHttp;
  /** What may still come in this call: all of it may have to be kept. */
  #roomBytes = 0;
  readonly #maxBytes: number;
  /** Ends what is waited for. */
  readonly #ended = new AbortController();

  constructor(rules: ConnectionRules, maxBytes: number) {
    this.#http = new OutboundHttp(rules);
    this.#maxBytes = maxBytes;
  }

  /** A call begins. */
  begin(): void {
    this.#roomBytes = this.#maxBytes;
  }

  /** Sends a request whole. Throws `RequestFailure` when no response comes. */
  async post({ url, headers, body }: PostRequest): Promise<LiveResponse> {
    this.#ended.signal.throwIfAborted();
    // What follows a # is for who asks, and is not sent.
    const address = /^(https?):\/\/([^/?#]+)([^#]*)/i.exec(url);
    if (address === null) throw new Error(`${url} is not an http or https address`);
    const [, scheme = '', authority = '', rest = ''] = address;
    const origin = `${scheme}://${authority}`;
    const bytes = Buffer.concat((typeof body === 'string' ? [body] : body).map((part) => Buffer.from(part)));
    if (bytes.length > maxUnsentBytes) throw tooLong(origin);
    const sent = [...headers, ['content-length', String(bytes.length)] as const];
    const opened = await this.#ask({
      operation: 'open',
      head: {
        method: 'POST',
        scheme: scheme.toLowerCase(),
        authority,
        pathWithQuery: rest.startsWith('/') ? rest : `/${rest}`,
        headers: sent.map(([name, value]) => [name, Buffer.from(value)] as const),
        connectTimeoutMs: null,
        firstByteTimeoutMs: null,
        betweenBytesTimeoutMs: null,
      },
      body: { bytes, finished: true },
    });
    if (opened.kind === 'refused') throw connectionFailure(origin, opened.error);
    const { exchange } = opened;
    await this.#ask({ operation: 'wait', waits: [{ exchange, event: 'head' }], timeoutMs: null, takes: false });
    const head = await this.#ask({ operation: 'head', exchange });
    if (head.kind === 'arrived') return this.#responseOf(exchange, head);
    void this.#http.answer({ operation: 'close', exchange });
    throw head.kind === 'failed' ? connectionFailure(origin, head.error) : new Error('a head is awaited and not there');
  }

  #responseOf(exchange: number, { status, headers }: Head): LiveResponse {
    const decoder = new TextDecoder();
    let isOver = false;
    const read = async (patienceMs: number | null): Promise<string | null> => {
      while (!isOver) {
        const bytes = await this.#read(exchange, patienceMs);
        if (bytes === 'late') return null;
        isOver = bytes === null;
        const piece = bytes === null ? decoder.decode() : decoder.decode(bytes, { stream: true });
        if (piece !== '') return piece;
      }
      return null;
    };
    return { status, headers, read, close: () => void this.#release(exchange, isOver) };
  }

  /** Mostly only the end of the body is left, which comes at once: behind it the connection serves the next request. */
  async #release(exchange: number, isOver: boolean): Promise<void> {
    if (!isOver && (await this.#isThere(exchange, endsWithinMs))) {
      await this.#ask({ operation: 'read', exchange, wait: false });
    }
    await this.#ask({ operation: 'close', exchange });
  }

  /** Whether more of the body has come by then, or its end. */
  async #isThere(exchange: number, timeoutMs: number): Promise<boolean> {
    const waits = [{ exchange, event: 'body' }] as const;
    const { over } = await this.#ask({ operation: 'wait', waits, timeoutMs, takes: false });
    return over.length > 0;
  }

  /** The next bytes, null at the end. */
  async #read(exchange: number, patienceMs: number | null): Promise<Uint8Array | null | 'late'> {
    if (patienceMs !== null) {
      const timeoutMs = Math.min(patienceMs, maxTimerMs);
      if (!(await this.#isThere(exchange, timeoutMs))) return 'late';
    }
    const answer = await this.#ask({ operation: 'read', exchange, wait: true });
    if (answer.kind === 'failed') throw broken(answer.error);
    if (answer.kind !== 'bytes') return null;
    this.#roomBytes -= answer.bytes.length;
    if (this.#roomBytes < 0) throw new ComponentFault('memory', 'the answer is longer than its memory');
    return answer.bytes;
  }

  async #ask<Asked extends RemoteRequest>(request: Asked): Promise<RemoteAnswers[Asked['operation']]> {
    return (await this.#http.answer(request)) as RemoteAnswers[Asked['operation']];
  }

  async sleep(milliseconds: number): Promise<void> {
    await pause(systemClock, Math.min(Math.ceil(milliseconds), maxTimerMs), this.#ended.signal);
  }

  /** Unix milliseconds. */
  now(): number {
    return systemClock.now();
  }

  /** Ends all that is open or waited for. */
  close(): void {
    this.#ended.abort(canceledCall());
    this.#http.close();
  }
}

function broken({ tag }: HttpErrorCode): Error {
  return brokenResponse(`the HTTP exchange failed: ${tag}`);
}

function tooLong(origin: string): RequestFailure {
  const most = maxUnsentBytes / 1024 / 1024;
  return new RequestFailure(`the request to ${origin} is larger than the ${most} MiB that svc sends`, {
    transient: false,
  });
}
