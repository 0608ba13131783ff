/** Refuses requests by their headers: ambiguous lengths, names of other hosts, pages of other origins; and compares secrets in constant time. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { createHash, timingSafeEqual } from 'node:crypto';

import type { Secret } from '../diagnostics/secret.ts';
import { type HttpRefusal, kitRefusal } from './refusal.ts';

/** The value of a header that may stand once; undefined when it is absent. Node joins what is sent twice, for nearly every name. */
export function singleHeader(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

const json = /^application\/json[ \t]*(?:;|$)/i;

/** Whether a `Content-Type` header says JSON: the media type exactly, in any case, with any parameters. */
export function isJsonMediaType(contentType: string | undefined): boolean {
  return contentType !== undefined && json.test(contentType);
}

/** Why a request is refused before anything is done with it; undefined when it is sound. The parser lets all of these pass. */
export function hygieneRefusal(request: IncomingMessage): HttpRefusal | undefined {
  const { httpVersion, url = '' } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return kitRefusal('unknown_http_version', 'Only HTTP/1.1 and HTTP/1.0 are spoken here.');
  }
  const hosts = countHosts(request.rawHeaders);
  if (hosts > 1) return kitRefusal('ambiguous_host', 'The request has more than one Host header.');
  if (hosts === 0 && httpVersion === '1.1') return kitRefusal('ambiguous_host', 'The request has no Host header.');
  const coding = request.headers['transfer-encoding'];
  if (coding !== undefined) {
    const refusal = codingRefusal(coding, request);
    if (refusal !== undefined) return refusal;
  }
  // An absolute target would carry a second host, and a fragment never belongs into a request.
  if (url.charCodeAt(0) !== slash || url.includes('#')) {
    return kitRefusal('bad_target', 'The request target must be a path that begins with "/".');
  }
  return undefined;
}

/** Whether the headers announce a body, even an empty chunked one. */
export function announcesBody(request: IncomingMessage): boolean {
  const { 'transfer-encoding': coding, 'content-length': length } = request.headers;
  return coding !== undefined || (length !== undefined && length !== '0');
}

const slash = 0x2f;

function codingRefusal(coding: string, request: IncomingMessage): HttpRefusal | undefined {
  if (request.httpVersion === '1.0') {
    return kitRefusal('ambiguous_body', 'HTTP/1.0 has no Transfer-Encoding.');
  }
  if (request.headers['content-length'] !== undefined) {
    return kitRefusal('ambiguous_body', 'The request has both Transfer-Encoding and Content-Length.');
  }
  if (coding.toLowerCase() !== 'chunked') {
    return kitRefusal('unknown_transfer_coding', 'The only transfer coding accepted is chunked.');
  }
  return undefined;
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/**
 * Whether a browser sent a request for a page of another origin. Such a page can reach every address of this machine; browsers say where
 * a request comes from in headers that no page can change. A page that this server gave, and an address that a person typed, pass.
 */
export function isForeignPage(headers: IncomingHttpHeaders): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (origin !== undefined && !isOwnOrigin(origin, host)) return true;
  // Browsers send no Origin with most GETs. A page of another port of this machine is `same-site`.
  if (site !== undefined) return site !== 'none' && site !== 'same-origin';
  return origin === undefined && isPage(headers);
}

/** Whether a browser sent a request, for whichever page: it has an `Origin`, or a header of those that no page can set. */
export function isPage(headers: IncomingHttpHeaders): boolean {
  if (headers.origin !== undefined) return true;
  // `fetch` of Node sends one of these headers, always with this value, and no other.
  for (const name of Object.keys(headers)) {
    if (name.startsWith('sec-fetch-') && (name !== 'sec-fetch-mode' || headers[name] !== 'cors')) return true;
  }
  return false;
}

/** The server may stand behind something that speaks https for it. */
function isOwnOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined) return false;
  const own = host.toLowerCase();
  return origin === `http://${own}` || origin === `https://${own}`;
}

export type BearerCheck = (authorization: string | undefined) => boolean;

/** A check of `Authorization` headers against one token. It takes the same time whatever the header says, and keeps only a hash. */
export function bearerCheck(token: Secret): BearerCheck {
  const expected = digest(Buffer.from(token.reveal(), 'utf8'));
  return (authorization) => {
    const presented = bearerOf(authorization);
    return presented !== undefined && timingSafeEqual(digest(presented), expected);
  };
}

/** The same for all headers of a request. */
export function tokenCheck(token: Secret): (headers: Pick<IncomingHttpHeaders, 'authorization'>) => boolean {
  const shows = bearerCheck(token);
  return ({ authorization }) => shows(authorization);
}

/** The token that an `Authorization` header shows, as its bytes; undefined where it shows none. */
export function bearerOf(authorization: string | undefined): Buffer | undefined {
  const presented = /^bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  // Header values arrive as one character a byte.
  return presented === undefined ? undefined : Buffer.from(presented, 'latin1');
}

// Hashed, any two tokens have the same length.
function digest(token: Buffer): Buffer {
  return createHash('sha256').update(token).digest();
}

const octet = '(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)';
const loopbackHost = new RegExp(
  `^(?:(?:[a-z0-9_-]+\\.)*localhost|127(?:\\.${octet}){3}|\\[::1\\])(?::\\d{0,5})?$`,
  'i',
);

/** Whether a `Host` header names this machine's loopback: `localhost`, a name under it, 127.0.0.0/8 or `[::1]`, with any port. */
export function isLoopbackHost(host: string): boolean {
  return loopbackHost.test(host);
}

/** Whether an address a socket is bound to is reachable from this machine alone. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./i.test(address);
}
