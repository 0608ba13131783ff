/** Sends one HTTP request with its body, and gives the head of the answer. */

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { LookupFunction } from 'node:net';

import type { Chunks } from '../files/replace-file.ts';
import { responseOf, startRequest } from './connections.ts';
import { openTunnel, type Proxy } from './proxy.ts';
import type { Transfer } from './request-run.ts';

export interface OutgoingBody {
  readonly bytes: number;
  chunks(): Chunks;
}

export interface Exchange {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: OutgoingBody | null;
  /** Carries the connection; null for a direct one. */
  readonly proxy: Proxy | null;
  /** Looks the host up instead of the system; not asked where a proxy connects. */
  readonly lookup?: LookupFunction;
  /** Aborted, it ends the exchange and the answer's body. */
  readonly signal: AbortSignal;
  readonly transfer: Transfer;
}

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
  // An error after the answer has begun is met by whoever reads the answer.
  const response = responseOf(request);
  if (body === null) {
    request.end();
    return await response;
  }
  // An answer may come before the body is sent; a body that cannot be read has none.
  return await Promise.race([response, sendBody(request, body, asked.transfer).then(() => response)]);
}

async function openRequest({ url, proxy, signal, lookup }: Exchange, options: RequestOptions): Promise<ClientRequest> {
  if (proxy !== null) {
    const socket = await openTunnel(url, proxy, signal);
    return startRequest(url, { ...options, createConnection: () => socket });
  }
  return startRequest(url, { ...options, ...(lookup === undefined ? {} : { lookup }) });
}

async function sendBody(request: ClientRequest, body: OutgoingBody, transfer: Transfer): Promise<void> {
  let isOver = false;
  for (const event of ['response', 'close'] as const) request.once(event, () => (isOver = true));
  request.flushHeaders();
  // Sent only once it is wanted: a refusal that comes while a body is on its way is often lost with the connection.
  await firstOf(request, ['continue', 'response', 'close'], goAheadMs);
  if (isOver) return;
  for await (const chunk of body.chunks()) {
    if (isOver) return;
    const isRoom = request.write(chunk);
    transfer.sent += chunk.length;
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
