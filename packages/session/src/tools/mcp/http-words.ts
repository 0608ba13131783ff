/** Says what a server on the web answered that no message is. */

import type { IncomingMessage } from 'node:http';

import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { retryAfterMs } from '@svc/kit/net/retry-after.ts';

const maxShown = 300;
/** The wait where a server that was asked too often names none, and the longest that it may want. */
const [usualWaitMs, mostWaitMs] = [1000, 30_000];

/** A header of an answer; null without it. */
export function headerOf(response: IncomingMessage, name: string): string | null {
  return [response.headers[name] ?? null].flat()[0] ?? null;
}

/** Nobody who asked one server is led to another. */
export function redirectWords(location: string, url: URL): string {
  const target = URL.canParse(location, url.href) ? new URL(location, url) : null;
  const where =
    target === null ? 'what is no address' : printable(shortened(`${target.origin}${target.pathname}`, maxShown));
  return `sends the client on to ${where}, where nothing was sent; name that address if it is meant`;
}

/** The beginning of a text of a server, as a message repeats it. */
export function shownText(text: string): string {
  return printable(shortened(text.trim(), maxShown));
}

/** How long a server that was asked too often wants to be left alone; null for any other answer, and where that is long. */
export function waitMsOf({ statusCode, headers }: IncomingMessage): number | null {
  const waitMs = statusCode === 429 ? (retryAfterMs(headers) ?? usualWaitMs) : null;
  return waitMs !== null && waitMs <= mostWaitMs ? waitMs : null;
}
