/** Reads the head of an answer, and says how its body ends. */

import { STATUS_CODES, type IncomingMessage, type InformationEvent } from 'node:http';

import { endToEnd } from './forwarded-headers.ts';
import { refuse, type ProxyRefusal } from './proxy-refusal.ts';
import type { HeaderLine, RequestHead } from './request-head.ts';

/** A response as it goes to the client: its framing is the proxy's own. */
export interface ResponsePlan {
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
