/** The heads of HTTP messages at the egress proxy: read strictly from a contained program, made anew for what is passed on, and made for a refusal. */

import { STATUS_CODES, type IncomingMessage, type InformationEvent } from 'node:http';
import { isHeaderValue, isHttpToken } from '@svc/protocol/header-syntax.ts';

type HeaderLine = readonly [name: string, value: string];

/** The head of one sound request. Values hold one byte a character. */
export interface RequestHead {
  readonly kind: 'head';
  readonly method: string;
  readonly target: string;
  readonly version: '1.0' | '1.1';
  readonly headers: readonly HeaderLine[];
  readonly framing: BodyFraming;
}

export type BodyFraming =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' };

export const maxHeadBytes: number = 32 * 1024;

// Upper case alone: what sends the request on would raise the others, and so send another method than it was shown.
const requestLine = /^([A-Z0-9!#$%&'*+.^_`|~-]{1,64}) ([\x21-\x7e]+) HTTP\/(\d)\.(\d)$/;
const lengthShape = /^\d{1,15}$/;

/**
 * Reads a head that ends with an empty line, more strictly than HTTP asks: whatever one of two readers could take for
 * something else (a folded header, a line that does not end with CR LF, two lengths, two hosts) is refused.
 */
export function parseRequestHead(bytes: Buffer): RequestHead | ProxyRefusal {
  const [first = '', ...lines] = bytes.toString('latin1').slice(0, -4).split('\r\n');
  const [, method, target, major, minor] = requestLine.exec(first) ?? [];
  if (method === undefined || target === undefined) return refuse(400, 'The request line is malformed.');
  if (major !== '1' || (minor !== '0' && minor !== '1')) {
    return refuse(505, 'Only HTTP/1.1 and HTTP/1.0 are spoken here.');
  }
  const headers: HeaderLine[] = [];
  for (const line of lines) {
    const header = parseHeaderLine(line);
    if (header === undefined) return refuse(400, 'A header line is malformed.');
    headers.push(header);
  }
  const version = `1.${minor}` as const;
  const framing = framingOf(version, headers);
  return framing.kind === 'refused' ? framing : { kind: 'head', method, target, version, headers, framing };
}

/** The name and the value in the line of a header or a trailer; undefined for a malformed one. */
export function parseHeaderLine(line: string): HeaderLine | undefined {
  // A regular expression that trims both sides of the value would take quadratic time over blanks.
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(colon, 0));
  let from = colon + 1;
  let to = line.length;
  while (from < to && isBlank(line[from])) from += 1;
  while (to > from && isBlank(line[to - 1])) to -= 1;
  const value = line.slice(from, to);
  return isHttpToken(name) && isHeaderValue(value) ? [name, value] : undefined;
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

function framingOf(version: '1.0' | '1.1', headers: readonly HeaderLine[]): BodyFraming | ProxyRefusal {
  const hosts = headerValues(headers, 'host');
  if (hosts.length > 1) return refuse(400, 'The request has more than one Host header.');
  if (hosts.length === 0 && version === '1.1') return refuse(400, 'The request has no Host header.');
  const expected = headerValues(headers, 'expect');
  if (expected.some((value) => value.toLowerCase() !== '100-continue')) {
    return refuse(417, 'Only 100-continue can be expected.');
  }
  const lengths = headerValues(headers, 'content-length');
  const codings = headerValues(headers, 'transfer-encoding');
  const [length] = lengths;
  if (lengths.length + codings.length > 1 || (length !== undefined && !lengthShape.test(length))) {
    return refuse(400, 'The length of the body is ambiguous.');
  }
  if (length !== undefined) return { kind: 'length', bytes: Number(length) };
  const [coding] = codings;
  if (coding === undefined) return { kind: 'none' };
  if (version === '1.0') return refuse(400, 'HTTP/1.0 has no Transfer-Encoding.');
  if (coding.toLowerCase() !== 'chunked') return refuse(501, 'The only transfer coding accepted is chunked.');
  return { kind: 'chunked' };
}

/** The values of every header line of this name, which is in lower case. */
export function headerValues(headers: readonly HeaderLine[], wanted: string): string[] {
  return headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
}

/** Headers of one connection, not of the message. Each side of the proxy has its own. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** Methods that are sent without a body unless one is announced. */
const bodiless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);

/** The header lines for the upstream server: `Host` of the target, the framing of the body as it was read, and what is not of the hop. */
export function upstreamHeaders(
  { headers, framing, method }: RequestHead,
  host: string,
  connection: 'close' | 'keep-alive' = 'close',
): HeaderLine[] {
  const kept = endToEnd(headers).filter(([name]) => !['host', 'content-length'].includes(name.toLowerCase()));
  const sent: HeaderLine[] = [['Host', host], ...kept];
  if (framing.kind === 'chunked') sent.push(['Transfer-Encoding', 'chunked']);
  if (framing.kind === 'length') sent.push(['Content-Length', String(framing.bytes)]);
  if (framing.kind === 'none' && !bodiless.has(method)) sent.push(['Content-Length', '0']);
  return [...sent, ['Connection', connection]];
}

/** What is meant for the other end, in its order: without the hop's own lines, all that `Connection` names, and `Proxy-*`. */
function endToEnd(headers: readonly HeaderLine[]): HeaderLine[] {
  const named = connectionOptions(headers);
  return headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !hopByHop.has(lower) && !named.has(lower) && !lower.startsWith('proxy-');
  });
}

/** True when the client's connection can serve another request after this one. */
export function wantsKeepAlive({ version, headers }: RequestHead): boolean {
  const asked = [...headerValues(headers, 'connection'), ...headerValues(headers, 'proxy-connection')];
  return version === '1.1' && !optionsOf(asked).has('close');
}

/** What a message says is its own: everything but what its framing and its addressing stand on. */
function connectionOptions(headers: readonly HeaderLine[]): ReadonlySet<string> {
  return optionsOf(headerValues(headers, 'connection'));
}

function optionsOf(values: readonly string[]): ReadonlySet<string> {
  return new Set(values.flatMap((value) => value.split(',')).map((option) => option.trim().toLowerCase()));
}

/** A response as it goes to the client: its framing is the proxy's own. */
export interface ResponsePlan {
  readonly kind: 'response';
  readonly statusLine: string;
  readonly headers: readonly HeaderLine[];
  /** `close`: the end of the connection ends the body, for clients that know no chunks. */
  readonly framing: 'none' | 'length' | 'chunked' | 'close';
}

/** Decides how a response is passed on; refuses one whose body has a coding that the client would not see. */
export function planResponse(response: IncomingMessage, request: RequestHead): ResponsePlan | ProxyRefusal {
  const { statusCode = 0, statusMessage = '', rawHeaders, headers } = response;
  const lines = headerLines(rawHeaders);
  const coding = headers['transfer-encoding'];
  if (lines === null || (coding !== undefined && coding.toLowerCase() !== 'chunked')) {
    return refuse(502, 'The server answered in a way that cannot be passed on.');
  }
  const kept = endToEnd(lines).filter(([name]) => name.toLowerCase() !== 'content-length');
  const length = headers['content-length'];
  const announced: HeaderLine[] = length === undefined || coding !== undefined ? [] : [['Content-Length', length]];
  const base = { kind: 'response', statusLine: statusLine(statusCode, statusMessage) } as const;
  if (statusCode === 204) return { ...base, headers: kept, framing: 'none' };
  if (request.method === 'HEAD' || statusCode === 304) {
    return { ...base, headers: [...kept, ...announced], framing: 'none' };
  }
  if (announced.length > 0) return { ...base, headers: [...kept, ...announced], framing: 'length' };
  if (request.version === '1.0') return { ...base, headers: kept, framing: 'close' };
  return { ...base, headers: [...kept, ['Transfer-Encoding', 'chunked']], framing: 'chunked' };
}

export function encodeResponseHead({ statusLine, headers }: ResponsePlan, keepAlive: boolean): Buffer {
  const closing: HeaderLine[] = keepAlive ? [] : [['Connection', 'close']];
  return encodeHead(statusLine, [...headers, ...closing]);
}

/** An interim response, such as 100 or 103, with what is meant for the client; null when it cannot be passed on. */
export function encodeInterim({ statusCode, statusMessage, rawHeaders }: InformationEvent): Buffer | null {
  const lines = headerLines(rawHeaders);
  if (lines === null) return null;
  const kept = endToEnd(lines).filter(([name]) => name.toLowerCase() !== 'content-length');
  return encodeHead(statusLine(statusCode, statusMessage), kept);
}

function statusLine(code: number, message: string): string {
  return `HTTP/1.1 ${code} ${isHeaderValue(message) ? message : (STATUS_CODES[code] ?? '')}`;
}

function encodeHead(first: string, headers: readonly HeaderLine[]): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return Buffer.from([first, ...lines, '', ''].join('\r\n'), 'latin1');
}

/** Name and value in turn, as Node gives them; null when a value could end its line. */
function headerLines(raw: readonly string[]): HeaderLine[] | null {
  const lines: HeaderLine[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const value = raw[at + 1] ?? '';
    if (!isHeaderValue(value)) return null;
    lines.push([raw[at] ?? '', value]);
  }
  return lines;
}

/** An answer of the proxy's own: its status and one plain sentence. The connection ends with it. */
export interface ProxyRefusal {
  readonly kind: 'refused';
  readonly status: 400 | 403 | 408 | 413 | 417 | 421 | 431 | 501 | 502 | 503 | 504 | 505;
  readonly text: string;
}

export function refuse(status: ProxyRefusal['status'], text: string): ProxyRefusal {
  return { kind: 'refused', status, text };
}

/** The whole response. A refusal to `HEAD` has no body, or its text would be read as the next response. */
export function encodeRefusal({ status, text }: ProxyRefusal, method: string): Buffer {
  const body = Buffer.from(`${text}\n`);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Connection: close',
    '',
    '',
  ].join('\r\n');
  return method === 'HEAD' ? Buffer.from(head) : Buffer.concat([Buffer.from(head), body]);
}
