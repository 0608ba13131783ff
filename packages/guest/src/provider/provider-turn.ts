/** Carries out one turn at a provider: sends the request, tries again where that is allowed, and reads the reply. */

import type { DriverResponse } from '../driver.ts';
import type { HttpResponse, PostRequest } from '../http.ts';
import type { CachedTokens } from './driver-notes.ts';
import type { DriverPorts, ReplySink } from './driver-ports.ts';
import { serverSentEvents, type ServerSentEvent } from './event-source.ts';
import { RequestFailure } from '../request-failure.ts';
import { retryAfter, withRetries } from './retry.ts';
import { isObject, listIn, objectIn, parseJson, textIn, type JsonObject } from '../json.ts';
import { PairKeeper } from '../text.ts';

const longestErrorBody = 64 * 1024;

/** Makes a response of a provider's events. One reader reads one stream. */
export interface ReplyReader {
  /** True once the reply is whole: nothing behind this event is wanted. Throws `RequestFailure` on a reported error. */
  accept(event: ServerSentEvent): boolean;
  /** The provider has said why it stopped. */
  readonly finished: boolean;
  response(): DriverResponse;
  /** Null where the provider said nothing of a cache. */
  cached(): CachedTokens | null;
}

export interface ProviderTurn {
  readonly request: PostRequest;
  /** Cut out of every message. */
  readonly apiKey: string | null;
  readonly maxRetries: number;
  readonly openReader: (sink: ReplySink) => ReplyReader;
}

/**
 * One turn at a streaming provider, with bounded retries until the first piece of the reply is out. Throws `RequestFailure`;
 * a stream that ends before the provider said why it stopped is one, never a short success (docs/adr/components.md "How provider drivers meet providers").
 */
export function runProviderTurn(turn: ProviderTurn, ports: DriverPorts): DriverResponse {
  // Each attempt has its own: half a character of one that broke off belongs to no other.
  let sink = new CountingSink(ports);
  const attemptAnew = (): DriverResponse => {
    sink = new CountingSink(ports);
    return attempt(turn, sink, ports);
  };
  try {
    return withRetries(attemptAnew, {
      maxRetries: turn.maxRetries,
      mayRetry: () => sink.emitted === 0,
      wait: (milliseconds, attempt) => {
        ports.note({ retry: { wait_ms: Math.ceil(milliseconds), attempt, of: turn.maxRetries } });
        ports.sleep(milliseconds);
      },
      now: () => ports.now(),
    });
  } catch (error) {
    if (!(error instanceof RequestFailure) || turn.apiKey === null || turn.apiKey === '') throw error;
    throw new RequestFailure(error.message.replaceAll(turn.apiKey, '[key]'), { transient: false });
  }
}

/** Passes pieces on once they are whole characters, and counts them. */
class CountingSink implements ReplySink {
  readonly #ports: ReplySink;
  readonly #text = new PairKeeper();
  readonly #thinking = new PairKeeper();
  emitted = 0;

  constructor(ports: ReplySink) {
    this.#ports = ports;
  }

  emitText(piece: string): void {
    const text = this.#text.push(piece);
    if (text === '') return;
    this.emitted += 1;
    this.#ports.emitText(text);
  }

  emitThinking(piece: string): void {
    const text = this.#thinking.push(piece);
    if (text === '') return;
    this.emitted += 1;
    this.#ports.emitThinking(text);
  }
}

function attempt(turn: ProviderTurn, sink: ReplySink, ports: DriverPorts): DriverResponse {
  const response = ports.post(turn.request);
  try {
    if (response.status !== 200) throw refusal(response, ports.now());
    if (/json|html/i.test(response.header('content-type') ?? '')) throw notAStream(response);
    const reader = turn.openReader(sink);
    const reply = readReply(response, reader);
    const cache = reader.cached();
    if (cache !== null) ports.note({ cache });
    return reply;
  } finally {
    response.close();
  }
}

function readReply(response: HttpResponse, reader: ReplyReader): DriverResponse {
  try {
    for (const event of serverSentEvents(response.pieces())) {
      if (reader.accept(event)) break;
    }
  } catch (error) {
    // Behind the stop reason only the token counts are left to lose.
    if (!(error instanceof RequestFailure && reader.finished)) throw error;
  }
  if (!reader.finished) {
    throw new RequestFailure('the provider ended its reply without a finish reason', { transient: true });
  }
  return reader.response();
}

function refusal(response: HttpResponse, now: number): RequestFailure {
  const { status } = response;
  const said = providerMessage(bodyStart(response));
  return new RequestFailure(`provider answered ${status}${said === '' ? '' : `: ${said}`}`, {
    transient: status === 408 || status === 429 || status >= 500,
    retryAfterMs: retryAfter((name) => response.header(name), now),
  });
}

function notAStream(response: HttpResponse): RequestFailure {
  const said = providerMessage(bodyStart(response));
  return new RequestFailure(`provider answered without an event stream${said === '' ? '' : `: ${said}`}`, {
    transient: false,
  });
}

function bodyStart(response: HttpResponse): string {
  let body = '';
  try {
    for (const piece of response.pieces()) {
      body += piece;
      if (body.length >= longestErrorBody) break;
    }
  } catch (error) {
    // The status tells more than a connection that broke while its explanation was read.
    if (!(error instanceof RequestFailure)) throw error;
  }
  return body.slice(0, longestErrorBody);
}

/** What a provider's error body says, in the spellings the common servers use; the body itself when it is none of them. */
export function providerMessage(body: string): string {
  const value = parseJson(body);
  return (isObject(value) ? messageIn(value) : '') || body;
}

/** The words of an error object, `''` when it has none. */
export function messageIn(value: JsonObject): string {
  const error = objectIn(value, 'error');
  if (error !== null) return textIn(error, 'message') || textIn(error, 'type') || JSON.stringify(error);
  const [detail] = listIn(value, 'detail');
  return (
    textIn(value, 'error') ||
    textIn(value, 'message') ||
    textIn(value, 'detail') ||
    (isObject(detail) ? textIn(detail, 'msg') : '')
  );
}
