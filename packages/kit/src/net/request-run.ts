/** Sends one request and follows it to its end: its deadline, its progress, and why it failed. */

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import type { Chunks } from '../files/replace-file.ts';
import { isNetworkError, type NetworkFault, networkFault, networkReason } from './network-reason.ts';
import { responseOf, startRequest } from './connections.ts';
import { bare, openTunnel, type Proxy } from './proxy.ts';

/** How far a request had got. */
interface Transfer {
  /** The length of the body that is sent; null without a body. */
  readonly toSend: number | null;
  sent: number;
  /** Announced for the answer; null before there is one, or when it announces nothing. */
  toReceive: number | null;
  received: number;
}

interface RunSettings {
  /** Who is asked, for messages. */
  readonly label: string;
  /** The length of the body; null without a body. */
  readonly toSend: number | null;
  readonly timeoutMs: number;
  /** Whether the time begins anew with each piece that goes over the line; such a request ends after an hour all the same. */
  readonly isPatient?: boolean;
  /** Aborted when the command is interrupted. */
  readonly interruption: AbortSignal | undefined;
}

/** For a patient request, in all. */
const maxMs = 60 * 60 * 1000;

const hints = {
  certificate: 'name the file of your own certificate authority in NODE_EXTRA_CA_CERTS',
  reach: 'check the address, and that this machine reaches it, through HTTPS_PROXY if need be',
  refused: 'check address and port, and that the server runs',
  plain: 'a server without TLS is reached from its own machine alone, with http:// in its address',
};

/** The one deadline of a request, how far it has got, and what it failed of. */
export class RequestRun {
  readonly label: string;
  readonly transfer: Transfer;
  readonly #timeoutMs: number;
  readonly #controller = new AbortController();
  readonly #interruption: AbortSignal | undefined;
  readonly #isPatient: boolean;
  readonly #timer: NodeJS.Timeout;
  readonly #last: NodeJS.Timeout | undefined;
  /** Why `svc` itself ended the request; null when it did not. */
  #ending: 'timeout' | 'interrupted' | null = null;

  constructor({ label, toSend, timeoutMs, interruption, isPatient = false }: RunSettings) {
    this.label = label;
    this.#isPatient = isPatient;
    this.#timeoutMs = timeoutMs;
    this.#interruption = interruption;
    this.transfer = { toSend, sent: 0, toReceive: null, received: 0 };
    this.#timer = setTimeout(() => this.#abort('timeout'), timeoutMs);
    if (isPatient) this.#last = setTimeout(() => this.#abort('timeout'), maxMs);
    interruption?.addEventListener('abort', this.#onInterruption);
    if (interruption?.aborted === true) this.#onInterruption();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  received(bytes: number): void {
    this.transfer.received += bytes;
    if (this.#isPatient) this.#timer.refresh();
  }

  sent(bytes: number): void {
    this.transfer.sent += bytes;
    if (this.#isPatient) this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#last);
    this.#interruption?.removeEventListener('abort', this.#onInterruption);
  }

  /** `E-IO-003` for a request that failed on its way; anything that is no failure of the network is returned as it is. */
  fault(error: unknown): unknown {
    if (error instanceof Diagnostic) return error;
    const progress = progressOf(this.transfer);
    if (this.#ending === 'interrupted') return new Diagnostic('E-IO-003', `${this.label}: interrupted`);
    if (this.#ending === 'timeout') {
      const allowed = `${this.#timeoutMs / 1000} seconds`;
      if (this.#isPatient) {
        const message = `${this.label} was given up: nothing came for ${allowed}, or it took more than an hour${progress}`;
        return new Diagnostic('E-IO-003', message, { hint: 'try again later, or on a faster line' });
      }
      const message = `${this.label} was given up after ${allowed}${progress}`;
      return new Diagnostic('E-IO-003', message, {
        hint: `such a request may take ${allowed} in all; try again later, or on a faster line`,
      });
    }
    if (!isNetworkError(error)) return error;
    const fault = networkFault(error.code);
    // What a stranger or no HTTP server was sent, and what came of it, is no progress.
    const shown = fault === 'certificate' || fault === 'no-http' ? '' : progress;
    const message = `${this.label}: ${networkReason(error)}${shown}`;
    return new Diagnostic('E-IO-003', message, { hint: hintFor(fault), cause: error });
  }

  readonly #onInterruption = (): void => this.#abort('interrupted');

  #abort(ending: 'timeout' | 'interrupted'): void {
    this.#ending ??= ending;
    this.#controller.abort();
  }
}

function hintFor(fault: NetworkFault | undefined): string {
  if (fault === 'certificate') return hints.certificate;
  if (fault === 'refused') return hints.refused;
  return fault === 'no-tls' ? hints.plain : hints.reach;
}

/** Nothing while nothing has gone over the line. */
function progressOf({ toSend, sent, toReceive, received }: Transfer): string {
  if (received > 0) return `, with ${received}${toReceive === null ? '' : ` of ${toReceive}`} bytes received`;
  return toSend === null ? '' : `, with ${sent} of ${toSend} bytes sent`;
}

export interface OutgoingBody {
  readonly bytes: number;
  chunks(): Chunks;
}

/** A body that is held whole. */
export function bodyOf(bytes: Uint8Array): OutgoingBody {
  return { bytes: bytes.length, chunks: () => [bytes] };
}

export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH';

interface Exchange {
  readonly url: URL;
  readonly method: HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: OutgoingBody | null;
  /** Carries the connection; null for a direct one. */
  readonly proxy: Proxy | null;
  /** Looks the host up instead of the system; not asked where a proxy connects. */
  readonly lookup?: LookupFunction;
  /** Aborted, it ends the exchange and the answer's body. */
  readonly signal: AbortSignal;
  readonly onSent: (bytes: number) => void;
}

/** For a connection, from the look-up of its name on. A resolver asks its second name server after five seconds. */
const connectMs = 10_000;

/** A server that does not know `Expect` is sent the body after this time. */
const goAheadMs = 1000;

/** One request over a connection of its own; resolves with the head of the answer, whatever its status. */
export async function exchange(asked: Exchange): Promise<IncomingMessage> {
  const { method, body, signal } = asked;
  const headers = {
    ...asked.headers,
    'accept-encoding': 'identity',
    ...(body === null ? {} : { 'content-length': String(body.bytes), expect: '100-continue' }),
  };
  const request = await openRequest(asked, { method, headers, signal });
  // The reader of the answer meets an error that comes after its beginning.
  const response = responseOf(request);
  if (body === null) {
    request.end();
    return await response;
  }
  // An answer may come before the body is sent; a body that cannot be read has none.
  return await Promise.race([response, sendBody(request, body, asked.onSent).then(() => response)]);
}

async function openRequest({ url, proxy, signal, lookup }: Exchange, options: RequestOptions): Promise<ClientRequest> {
  if (proxy !== null) {
    const socket = await openTunnel(url, proxy, signal);
    return startRequest(url, { ...options, createConnection: () => socket });
  }
  const request = startRequest(url, { ...options, ...(lookup === undefined ? {} : { lookup }) });
  limitConnecting(request, isIP(bare(url.hostname)) !== 0);
  return request;
}

/** `ETIMEOUT` where no name server answers, `ETIMEDOUT` where the address does not. */
function limitConnecting(request: ClientRequest, isAddress: boolean): void {
  request.once('socket', (socket) => {
    let code = isAddress ? 'ETIMEDOUT' : 'ETIMEOUT';
    const timer = setTimeout(() => request.destroy(Object.assign(new Error(code), { code })), connectMs);
    socket.once('lookup', () => (code = 'ETIMEDOUT'));
    for (const event of ['connect', 'close'] as const) socket.once(event, () => clearTimeout(timer));
  });
}

async function sendBody(request: ClientRequest, body: OutgoingBody, onSent: (bytes: number) => void): Promise<void> {
  let isOver = false;
  for (const event of ['response', 'close'] as const) request.once(event, () => (isOver = true));
  request.flushHeaders();
  // Sent only once it is wanted: a refusal that comes while a body is on its way is often lost with the connection.
  await firstOf(request, ['continue', 'response', 'close'], goAheadMs);
  if (isOver) return;
  for await (const chunk of body.chunks()) {
    if (isOver) return;
    const isRoom = request.write(chunk);
    onSent(chunk.length);
    if (!isRoom) await firstOf(request, ['drain', 'response', 'close']);
  }
  if (!isOver) request.end();
}

async function firstOf(request: ClientRequest, events: readonly string[], withinMs?: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = withinMs === undefined ? undefined : setTimeout(done, withinMs);
    function done(): void {
      clearTimeout(timer);
      for (const event of events) request.off(event, done);
      resolve();
    }
    for (const event of events) request.once(event, done);
    if (request.destroyed) done();
  });
}
