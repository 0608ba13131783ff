/** Reads the head of a request strictly. */

import { refuse, type ProxyRefusal } from './proxy-refusal.ts';

export type HeaderLine = readonly [name: string, value: string];

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
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;
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

/** Without a regular expression over the whole line: one that trims on both sides takes quadratic time over blanks. */
function parseHeaderLine(line: string): HeaderLine | undefined {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(colon, 0));
  let from = colon + 1;
  let to = line.length;
  while (from < to && isBlank(line[from])) from += 1;
  while (to > from && isBlank(line[to - 1])) to -= 1;
  const value = line.slice(from, to);
  return headerName.test(name) && headerValue.test(value) ? [name, value] : undefined;
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
