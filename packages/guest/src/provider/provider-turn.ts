/** Carries out one turn at a provider: sends the request, tries again where that is allowed, and reads the reply. */

import type { DriverResponse, ToolDefinition } from '../driver.ts';
import type { CachedTokens } from './driver-notes.ts';
import type { DriverPorts, PostRequest, ProviderAnswer, ReplySink } from './driver-ports.ts';
import { checkWhole, EventSource, type ServerSentEvent } from './event-source.ts';
import { openBody, type ReadPiece } from './reply-body.ts';
import type { OfferedTools } from './refused-tools.ts';
import { isError, refusedRequest, reportedFailure, wordsOf } from './reported-error.ts';
import { compressedAnswer, RequestFailure } from '../request-failure.ts';
import { retryAfter, type RetryPolicy, withRetries } from './retry.ts';
import { type Steps, waitFor } from './steps.ts';
import { isObject, parseJson } from '../json.ts';
import { PairKeeper } from '../text.ts';

const maxErrorBody = 64 * 1024;
/** For the token counts, which come behind the reason to stop, and the end of the stream. */
const maxEndMs = 2_000;

/** Makes a response of a provider's events. One reader reads one stream. */
export interface ReplyReader {
  /** True once the reply is whole: nothing behind this event is wanted. Throws `RequestFailure` on a reported error. */
  accept(event: ServerSentEvent): boolean;
  /** The provider has said why it stopped. */
  readonly finished: boolean;
  /** How many pieces of the reply have come: signs of life are none. */
  readonly pieces: number;
  response(): DriverResponse;
  /** Null where the provider said nothing of a cache. */
  cached(): CachedTokens | null;
}

export interface ProviderTurn {
  readonly offered: OfferedTools;
  /** The request with these tools. */
  readonly requestWith: (tools: readonly ToolDefinition[]) => PostRequest;
  /** Cut out of every message. */
  readonly apiKey: string | null;
  readonly maxRetries: number;
  readonly openReader: (sink: ReplySink) => ReplyReader;
}

/**
 * One turn at a streaming provider, with bounded retries until the first piece of the reply is out. Throws `RequestFailure`;
 * a stream that ends before the provider said why it stopped is one, never a short success (docs/adr/drivers.md "How provider drivers meet providers").
 */
export function* runProviderTurn(turn: ProviderTurn, ports: DriverPorts): Steps<DriverResponse> {
  // Each attempt has its own: half a character of one that broke off belongs to no other.
  let sink = new CountingSink(ports);
  const policy: RetryPolicy = {
    maxRetries: turn.maxRetries,
    mayRetry: () => sink.emitted === 0,
    wait: (milliseconds, attempt) => {
      ports.note({ retry: { wait_ms: Math.ceil(milliseconds), attempt, of: turn.maxRetries } });
      return waitFor(() => ports.sleep(milliseconds));
    },
    now: () => ports.now(),
  };
  for (;;) {
    const request = turn.requestWith(turn.offered.tools);
    const attemptAnew = (): Steps<DriverResponse> => {
      sink = new CountingSink(ports);
      return attempt(turn, { request, sink }, ports);
    };
    try {
      return yield* withRetries(attemptAnew, policy);
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error;
      const failure = withoutKey(error, turn.apiKey);
      if (sink.emitted > 0 || !turn.offered.leaveOut(failure, ports)) throw failure;
    }
  }
}

function withoutKey(failure: RequestFailure, apiKey: string | null): RequestFailure {
  if (apiKey === null || apiKey === '') return failure;
  const { message, status } = failure;
  return new RequestFailure(message.replaceAll(apiKey, '[key]'), { transient: false, status });
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

/** How long the rest of a reply is waited for once the provider has said why it stopped: some hold the stream open, and send signs of life. */
class Patience {
  readonly #reader: ReplyReader;
  readonly #ports: DriverPorts;
  #since: number | null = null;
  #pieces = 0;

  constructor(reader: ReplyReader, ports: DriverPorts) {
    this.#reader = reader;
    this.#ports = ports;
  }

  /** Milliseconds, 0 when it is over; null where the reply goes on as long as it takes. */
  leftMs(): number | null {
    if (!this.#reader.finished) return null;
    const now = this.#ports.now();
    // A server that gives a reason with every piece has not stopped yet.
    if (this.#since === null || this.#reader.pieces !== this.#pieces) this.#since = now;
    this.#pieces = this.#reader.pieces;
    return Math.max(0, this.#since + maxEndMs - now);
  }
}

interface Asking {
  readonly request: PostRequest;
  readonly sink: CountingSink;
}

function* attempt(turn: ProviderTurn, { request, sink }: Asking, ports: DriverPorts): Steps<DriverResponse> {
  const response = yield* waitFor(() => ports.post(request));
  try {
    if (response.status !== 200) throw yield* refusal(response, ports.now());
    const coding = response.header('content-encoding')?.trim() ?? '';
    if (!/^(?:identity)?$/i.test(coding)) throw compressedAnswer(coding);
    const reader = turn.openReader(sink);
    const patience = new Patience(reader, ports);
    const reply = yield* readReply(reader, () => waitFor(() => response.read(patience.leftMs())));
    const cache = reader.cached();
    if (cache !== null) ports.note({ cache });
    return reply;
  } finally {
    response.close();
  }
}

function* readReply(reader: ReplyReader, read: ReadPiece): Steps<DriverResponse> {
  const body = yield* openBody(read);
  if (body.kind === 'page') throw notAStream(body.text);
  const events = new EventSource();
  if (body.kind === 'whole') acceptWhole(reader, body.text);
  else yield* acceptStream(reader, { start: body.start, read, events });
  if (!reader.finished) throw unfinished(events.stray);
  return reader.response();
}

interface Streamed {
  readonly start: string;
  readonly read: ReadPiece;
  readonly events: EventSource;
}

function* acceptStream(reader: ReplyReader, { start, read, events }: Streamed): Steps<void> {
  const isWhole = (ready: Iterable<ServerSentEvent>): boolean => {
    for (const event of ready) if (reader.accept(event)) return true;
    return false;
  };
  try {
    for (let piece: string | null = start; piece !== null; piece = yield* read()) {
      if (isWhole(events.push(piece))) return;
    }
    isWhole(events.end());
  } catch (error) {
    // Behind the stop reason only the token counts are left to lose.
    if (!(error instanceof RequestFailure && reader.finished)) throw error;
  }
}

/** The answer of a server that does not stream, or the error that it gives instead of one. */
function acceptWhole(reader: ReplyReader, text: string): void {
  checkWhole(text);
  const value = parseJson(text);
  if (isError(value)) throw reportedFailure('an error', value);
  if (!isObject(value)) throw notAStream(text);
  if (!reader.accept({ type: '', data: text })) reader.accept(endMark);
  if (!reader.finished) throw notAStream(text);
}

const endMark: ServerSentEvent = { type: '', data: '[DONE]' };

/** `stray` is what stood between the events: some servers write their error there. */
function unfinished(stray: string): RequestFailure {
  const text = stray.trim();
  if (isError(parseJson(text))) return reportedFailure('an error', text);
  const said = text === '' ? '' : `: ${wordsOf(text)}`;
  return new RequestFailure(`the provider ended its reply without a finish reason${said}`, { transient: true });
}

function* refusal(response: ProviderAnswer, now: number): Steps<RequestFailure> {
  const asked = retryAfter((name) => response.header(name), now);
  const failure = refusedRequest(response.status, yield* bodyStart(response), asked);
  // Two makers say themselves whether there is any use.
  return response.header('x-should-retry')?.trim() === 'false'
    ? new RequestFailure(failure.message, { transient: false, status: failure.status })
    : failure;
}

function notAStream(text: string): RequestFailure {
  const said = wordsOf(text.slice(0, maxErrorBody));
  return new RequestFailure(`provider answered without an event stream${said === '' ? '' : `: ${said}`}`, {
    transient: false,
  });
}

function* bodyStart(response: ProviderAnswer): Steps<string> {
  let body = '';
  const read: ReadPiece = () => waitFor(() => response.read(null));
  try {
    for (let piece = yield* read(); piece !== null; piece = yield* read()) {
      body += piece;
      if (body.length >= maxErrorBody) break;
    }
  } catch (error) {
    // The status tells more than a connection that broke while its explanation was read.
    if (!(error instanceof RequestFailure)) throw error;
  }
  return body.slice(0, maxErrorBody);
}
