/** Chooses the header lines that are passed on. */

import { headerValues, type HeaderLine, type RequestHead } from './request-head.ts';

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
export function endToEnd(headers: readonly HeaderLine[]): HeaderLine[] {
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
