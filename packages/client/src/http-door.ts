/** Requests over any function shaped like `fetch`, with a bound on every wait and on every buffer. */

import { isHeaderValue } from '@svc/protocol/header-syntax.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { decodeRefusal } from '@svc/protocol/refusal.ts';
import { maxIndexBytes } from '@svc/protocol/registry-messages.ts';
import { ClientError } from './client-error.ts';
import { maxTimerMs, type Wait, within } from './wait.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
  /** The client follows no redirect: a token is for one address. */
  readonly redirect: 'manual';
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: { getReader(): BodyReader } | null;
}

interface BodyReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<unknown>;
}

/** `fetch`, or a replacement. */
export type Http = (url: string, request: HttpRequest) => Promise<HttpResponse>;

export interface Limits {
  /** Limit for the start of an answer, and for all of one that is neither stream nor file. Infinity waits for ever, here and below. */
  readonly callMs: number;
  /** Limit for silence in a stream or a file. A capsule sends something every 15 seconds unless it is busy. */
  readonly idleMs: number;
  readonly maxAnswerBytes: number;
  /** Bytes of the index of a registry. */
  readonly maxIndexBytes: number;
  readonly maxFileBytes: number;
  /** Characters of one frame. */
  readonly maxFrame: number;
  /** Characters that a watch has read ahead of its caller; it holds one frame whatever its length. */
  readonly maxAhead: number;
  /** Reconnects in a row. A new frame begins the count anew, and so does a connection that stood for 5 seconds, or for `idleMs` where that is less. */
  readonly maxReconnects: number;
  /** Pause before the first; each waits twice as long as the one before, 5 seconds at most. */
  readonly reconnectMs: number;
}

const usualLimits: Limits = {
  callMs: 30_000,
  idleMs: 60_000,
  maxAnswerBytes: 16 * 1024 * 1024,
  maxIndexBytes,
  maxFileBytes: 512 * 1024 * 1024,
  maxFrame: 128 * 1024 * 1024,
  maxAhead: 32 * 1024 * 1024,
  maxReconnects: 8,
  reconnectMs: 100,
};

/** The defaults where none is given, also as undefined. */
function limitsOf(given: NonNullable<DoorOptions['limits']>): Limits {
  const entries = Object.entries(usualLimits).map(([name, usual]) => {
    const limit = given[name as keyof Limits] ?? usual;
    if (limit >= 0) return [name, limit];
    throw new RangeError(`limits.${name} must be a number from 0 on, not ${String(limit)}`);
  });
  return Object.fromEntries(entries) as Limits;
}

export interface DoorOptions {
  /** `host:port`, which means http, or `http(s)://host[:port]`, with a path before all others if there is one. */
  readonly url: string;
  /** Sent as a bearer token. */
  readonly token?: string | undefined;
  /** The `fetch` of the platform when absent. */
  readonly fetch?: Http;
  readonly limits?: { readonly [Name in keyof Limits]?: Limits[Name] | undefined };
}

export interface Asked {
  readonly method: 'GET' | 'POST';
  /** Path and query, from the slash on. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal | undefined;
  /** Replaces the default limit. */
  readonly callMs?: number;
}

/** The head of an answer; its body follows. */
export interface OpenAnswer {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  /** In lower case, without parameters. */
  readonly mediaType: string;
  /** Stops the reading of the body with its reason. */
  readonly signal: AbortSignal | undefined;
  /**
   * The body in the pieces it comes in. Throws `timeout` after `idleMs` without one, `unreachable` when the connection breaks. A caller that stops
   * reading ends the connection.
   */
  pieces(idleMs: number): AsyncGenerator<Uint8Array, void>;
  /** The body, of at most so many bytes: `too-large` for more. */
  bytes(maxBytes: number, idleMs: number): Promise<Uint8Array<ArrayBuffer>>;
}

const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i;

/** Whether the platform accepts it as a URL, and a path can follow it. */
function isAskable(url: string): boolean {
  return /^https?:/i.test(url) && !/[?#]/.test(url) && URL.canParse(url);
}

/** One server, and the way to send it requests. */
export class HttpDoor {
  readonly limits: Limits;
  /** Without a slash at its end. */
  readonly url: string;
  readonly #token: string | undefined;
  readonly #fetch: Http;

  /** Throws RangeError for a limit that is no number from 0 on. */
  constructor({ url, token, fetch, limits = {} }: DoorOptions) {
    this.url = (hasScheme.test(url) ? url : `http://${url}`).replace(/\/+$/, '');
    this.#token = token;
    // Called without a `this`: the platform refuses any other.
    this.#fetch = fetch ?? (async (target, request) => await globalThis.fetch(target, request));
    this.limits = limitsOf(limits);
  }

  /** Sends a request, and hands the answer to `take`; afterwards it closes the connection, whatever was read. Rejects with the reason of an aborted signal. */
  async ask<Value>(asked: Asked, take: (answer: OpenAnswer) => Promise<Value>): Promise<Value> {
    const { answer, close } = await this.open(asked);
    try {
      return await take(answer);
    } finally {
      close();
    }
  }

  /** The same for an answer that stays open; the caller closes it. */
  async open(asked: Asked): Promise<{ answer: OpenAnswer; close: () => void }> {
    const { method, target, headers = {}, body, signal, callMs = this.limits.callMs } = asked;
    signal?.throwIfAborted();
    if (!isAskable(this.url)) throw new ClientError('bad-url', `${this.url} is no address that can be asked`);
    this.#checkHeaders(headers);
    const own = new AbortController();
    const close = (): void => {
      signal?.removeEventListener('abort', close);
      own.abort();
    };
    signal?.addEventListener('abort', close, { once: true });
    const authorization = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    const asking = this.#fetch(`${this.url}${target}`, {
      method,
      headers: { ...headers, ...authorization },
      ...(body === undefined ? {} : { body }),
      signal: own.signal,
      redirect: 'manual',
    });
    try {
      const response = await within(asking, { ms: callMs, signal });
      return { answer: answerOf(response, signal), close };
    } catch (error) {
      close();
      throw error;
    }
  }

  /** The error of the platform would repeat the whole value. */
  #checkHeaders(headers: Readonly<Record<string, string>>): void {
    if (this.#token !== undefined && !isHeaderValue(this.#token)) {
      throw new ClientError('bad-token', `the token for ${this.url} holds what no header can, such as a line break`);
    }
    const odd = Object.keys(headers).find((name) => !isHeaderValue(headers[name]!));
    if (odd === undefined) return;
    const message = `the header ${odd} for ${this.url} was to hold what no header can, such as a line break`;
    throw new ClientError('bad-header', message);
  }

  /** An answer of JSON. Throws `refused` for any other status, `too-large` for one that holds too many values to be parsed. */
  async json(asked: Asked, statuses: readonly number[] = [200]): Promise<unknown> {
    const { maxAnswerBytes } = this.limits;
    const maxValues = Math.max(usualValues, Math.floor(maxAnswerBytes / bytesOfValue));
    const parsed = parseJsonText(await this.text(asked, { statuses, maxBytes: maxAnswerBytes }), maxValues);
    if (parsed.kind === 'json') return parsed.value;
    if (parsed.kind === 'too-many')
      throw new ClientError('too-large', `the answer holds more than ${maxValues} values`);
    throw new ClientError('not-json', `${this.url} did not answer with JSON`);
  }

  /** An answer of text, which is whole within `callMs`. Throws `refused` for any other status. */
  async text(
    asked: Asked,
    { statuses = [200], maxBytes }: { readonly statuses?: readonly number[]; readonly maxBytes: number },
  ): Promise<string> {
    const { callMs = this.limits.callMs } = asked;
    // Applies while `take` runs too; `within` would leave it open.
    const late = AbortSignal.timeout(Math.min(Math.ceil(callMs), maxTimerMs));
    const signal = asked.signal === undefined ? late : AbortSignal.any([asked.signal, late]);
    try {
      return await this.ask({ ...asked, signal }, async (answer) => {
        if (!statuses.includes(answer.status)) throw await this.refusal(answer);
        return new TextDecoder().decode(await answer.bytes(maxBytes, callMs));
      });
    } catch (error) {
      asked.signal?.throwIfAborted();
      if (!late.aborted) throw error;
      throw new ClientError('timeout', `no answer within ${callMs / 1000} s`, { cause: error });
    }
  }

  /**
   * The JSON of an unwanted answer, such as a refusal; undefined when its body is not JSON, too long or too late. Rejects with the
   * reason of an aborted signal.
   */
  async jsonIn(answer: OpenAnswer): Promise<unknown> {
    try {
      const whole = answer.bytes(maxRefusal, refusalMs);
      const { signal } = answer;
      const parsed = parseJsonText(new TextDecoder().decode(await within(whole, { ms: refusalMs, signal })));
      return parsed.kind === 'json' ? parsed.value : undefined;
    } catch (error) {
      answer.signal?.throwIfAborted();
      if (error instanceof ClientError) return undefined;
      throw error;
    }
  }

  /** The `refused` of an answer, with its reason, if that comes soon. */
  async refusal(answer: OpenAnswer): Promise<ClientError> {
    const { error = null, message = null } = decodeRefusal(await this.jsonIn(answer)) ?? {};
    const said = [error, message].filter((text) => text !== null).join(': ');
    const { status } = answer;
    const text = `${this.url} answered ${status}${said === '' ? '' : ` ${said}`}`;
    return new ClientError('refused', text, { status, refusal: error });
  }
}

/** Values in an answer of JSON, of the usual length or below. */
const usualValues = 2 ** 20;
/** A longer one may hold as many for its length: a listing has five for each file, which take more. */
const bytesOfValue = 16;

const maxRefusal = 64 * 1024;
const refusalMs = 2000;

function answerOf(response: HttpResponse, signal: AbortSignal | undefined): OpenAnswer {
  const header = (name: string): string | undefined => response.headers.get(name) ?? undefined;
  const pieces = (idleMs: number): AsyncGenerator<Uint8Array, void> => piecesOf(response, { ms: idleMs, signal });
  return {
    status: response.status,
    header,
    mediaType: (header('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase(),
    signal,
    pieces,
    bytes: async (maxBytes, idleMs) => {
      if (Number(header('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes);
      return await gathered(pieces(idleMs), maxBytes);
    },
  };
}

async function* piecesOf({ body }: HttpResponse, wait: Wait): AsyncGenerator<Uint8Array, void> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), wait);
      if (done) return;
      if (value !== undefined) yield value;
    }
  } finally {
    // A body that broke has an error here too, which was already reported.
    reader.cancel().catch(() => {});
  }
}

async function gathered(pieces: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  let bytes = new Uint8Array(0);
  let length = 0;
  for await (const piece of pieces) {
    if (length + piece.length > maxBytes) throw tooLarge(maxBytes);
    if (length + piece.length > bytes.length) {
      const larger = new Uint8Array(Math.max(2 * bytes.length, length + piece.length));
      larger.set(bytes.subarray(0, length));
      bytes = larger;
    }
    bytes.set(piece, length);
    length += piece.length;
  }
  return bytes.subarray(0, length);
}

function tooLarge(maxBytes: number): ClientError {
  return new ClientError('too-large', `the answer is larger than ${maxBytes} bytes`);
}

type Hashing = typeof globalThis.crypto.subtle;

/** Throws `insecure-page` where the platform computes no hashes, before a caller that will need one. */
export function checkHashing(): Hashing {
  const { subtle } = globalThis.crypto as { readonly subtle?: Hashing };
  if (subtle !== undefined) return subtle;
  const message = 'no bytes can be checked here: a browser makes hashes for pages of https or of this machine alone';
  throw new ClientError('insecure-page', message);
}

/** The SHA-256 of bytes as 64 lowercase hex characters, computed by the platform. Throws `insecure-page`. */
export async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await checkHashing().digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
