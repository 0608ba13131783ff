/** Asks authorization servers: what stands for `fetch` in the library of the protocol, with a bound for all that they may do. */

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';

import type { FetchLike } from '@modelcontextprotocol/client';
import { responseOf, startRequest } from '@svc/kit/net/connections.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import { ProxiedConnections } from '@svc/kit/net/proxied-connections.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import { lookupWithin, redirectTarget, type RedirectSource } from '@svc/kit/net/redirect-rule.ts';
import { redirectWords } from '../http-words.ts';

const maxAnswerBytes = 256 * 1024;
const largestHead = 32 * 1024;
/** For a request in all. */
const askMs = 20_000;
const lookupMs = 10_000;
const empty: ReadonlySet<number> = new Set([204, 205, 304]);

/** Starts a request. */
export type Send = (url: URL, options: RequestOptions) => ClientRequest;

interface LoginFetch {
  /** Who named the places that are asked: none of them may be further inside than it is. */
  readonly ledBy: RedirectSource;
  readonly proxyFor: ProxyFor | null;
  /** Aborted when nobody waits for it any more. */
  readonly signal?: AbortSignal;
}

/** Each place is held to the rule of redirects, and leads nowhere else. `E-RUN-240` for what it does that no login may come of. */
export function loginFetch({ ledBy, proxyFor, signal }: LoginFetch): FetchLike {
  return async (input, init = {}) => {
    const url = redirectTarget(String(input), ledBy);
    const proxied = proxyFor === null ? null : new ProxiedConnections(proxyFor);
    const send: Send = (place, options) =>
      proxied?.send(place, options) ?? startRequest(place, { ...options, lookup: lookupWithin(ledBy, lookupMs) });
    try {
      return (await askedBy(send, url, { ...init, ...(signal === undefined ? {} : { signal }) })).response;
    } finally {
      proxied?.close();
    }
  };
}

/** An answer, and the address that the connection leads to: behind a proxy, that of the proxy. */
export interface AskedAnswer {
  readonly response: Response;
  readonly address: string | null;
}

/** One request, whose whole answer is read. */
export async function askedBy(
  send: Send,
  url: URL,
  { method = 'GET', headers, body, signal }: RequestInit,
): Promise<AskedAnswer> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), askMs);
  const leave = (): void => limit.abort();
  signal?.addEventListener('abort', leave);
  if (signal?.aborted === true) leave();
  let answer: IncomingMessage | undefined;
  const text = typeof body === 'string' || body instanceof URLSearchParams ? body.toString() : '';
  try {
    const asking = send(url, {
      method,
      headers: {
        'user-agent': 'svc',
        ...Object.fromEntries(new Headers(headers)),
        'accept-encoding': 'identity',
        ...(method === 'GET' ? {} : { 'content-length': Buffer.byteLength(text) }),
      },
      signal: limit.signal,
      maxHeaderSize: largestHead,
    });
    const arriving = responseOf(asking);
    asking.end(text);
    answer = await arriving;
    const { statusCode: status = 0, headers: given, socket } = answer;
    if (status < 200 || status > 599) throw refused(url, `answers with status ${status}`);
    const { location } = given;
    const isAway = status >= 300 && status < 400 && location !== undefined && !isWithin(location, url);
    if (isAway) throw refused(url, redirectWords(location, url));
    const bytes = await readUpTo(answer, maxAnswerBytes);
    if (bytes === undefined) throw refused(url, `answers with more than ${maxAnswerBytes / 1024} KiB`);
    const shown = Object.entries(given).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []));
    const response = new Response(empty.has(status) ? null : bytes, { status, headers: shown as [string, string][] });
    return { response, address: socket.remoteAddress ?? null };
  } catch (error) {
    if (error instanceof Diagnostic) throw error;
    if (signal?.aborted === true) throw new Diagnostic('E-IO-003', 'the login was left');
    if (limit.signal.aborted) throw refused(url, `did not answer in ${askMs / 1000} seconds`);
    if (!isNetworkError(error)) throw error;
    throw refused(url, `could not be asked: ${networkReason(error)}`, 'check the address, and that the server runs');
  } finally {
    answer?.destroy();
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
  }
}

function isWithin(location: string, url: URL): boolean {
  return URL.canParse(location, url.href) && new URL(location, url).origin === url.origin;
}

function refused(url: URL, what: string, hint?: string): Diagnostic {
  const helped = hint === undefined ? {} : { hint };
  return new Diagnostic('E-RUN-240', `${url.origin}${url.pathname} ${what}`, helped);
}
