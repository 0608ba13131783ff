/** Tells requests of web pages from those of programs. */

import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a browser sent a request for a page of another origin. Such a page can reach every address of this machine; browsers say where
 * a request comes from in headers that no page can change. A page that this server gave, and an address that a person typed, pass.
 */
export function isForeignPage({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (origin !== undefined && !isOwnOrigin(origin, host)) return true;
  // Browsers send no Origin with most GETs. A page of another port of this machine is `same-site`.
  return site !== undefined && site !== 'none' && site !== 'same-origin';
}

/** The server may stand behind something that speaks https for it. */
function isOwnOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined) return false;
  const own = host.toLowerCase();
  return origin === `http://${own}` || origin === `https://${own}`;
}
