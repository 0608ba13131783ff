/** Makes the heads of requests and answers that are passed on, and says how the body of an answer ends. */

import { STATUS_CODES, type IncomingMessage, type InformationEvent } from 'node:http';
import { refuse, type ProxyRefusal } from './proxy-refusal.ts';
import { type HeaderLine, type RequestHead, headerValues } from './request-head.ts';

/** Of one connection, not of the message; the sides of the proxy have their own. */
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
export function upstreamHeaders({ headers, framing, method }: RequestHead, host: string): HeaderLine[] {
  const kept = endToEnd(headers).filter(([name]) => !['host', 'content-length'].includes(name.toLowerCase()));
  const sent: HeaderLine[] = [['Host', host], ...kept];
  if (framing.kind === 'chunked') sent.push(['Transfer-Encoding', 'chunked']);
  if (framing.kind === 'length') sent.push(['Content-Length', String(framing.bytes)]);
  if (framing.kind === 'none' && !bodiless.has(method)) sent.push(['Content-Length', '0']);
  return [...sent, ['Connection', 'close']];
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
interface ResponsePlan {
  readonly kind: 'response';
  readonly statusLine: string;
  readonly headers: readonly HeaderLine[];
  /** `close`: the end of the connection ends the body, for clients that know no chunks. */
  readonly framing: 'none' | 'length' | 'chunked' | 'close';
}

const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;
const phraseShape = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Decides how a response is passed on; refuses one whose body has a coding that the client would not be told of. */
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
  return `HTTP/1.1 ${code} ${phraseShape.test(message) ? message : (STATUS_CODES[code] ?? '')}`;
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
    if (!headerValue.test(value)) return null;
    lines.push([raw[at] ?? '', value]);
  }
  return lines;
}
