/** Keeps web pages from giving tasks to a listener beyond loopback that asks nobody for a token. */

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';

import { isLoopbackHost, isPage } from '@svc/kit/http/hygiene.ts';
import { type HttpRefusal, kitRefusal } from '@svc/kit/http/refusal.ts';
import type { RunRequest } from '../launch/running-capsule.ts';

/**
 * Refuses pages that know this listener by a name which is not known to be its own: where nobody has to show a token, a page could have its own
 * name lead here, and give tasks. Programs go by any name.
 */
export function refusePagesOfNames(env: RunRequest['env']): (request: IncomingMessage) => HttpRefusal | undefined {
  return ({ headers }) => {
    const { host = '' } = headers;
    if (!isPage(headers) || isLoopbackHost(host)) return undefined;
    const name = host.replace(/:\d*$/, '').toLowerCase();
    const publicUrl = URL.parse(env['SVC_PUBLIC_URL'] ?? '');
    if (isIP(name.replace(/^\[|\]$/g, '')) > 0 || name === hostname().toLowerCase() || name === publicUrl?.hostname) {
      return undefined;
    }
    return kitRefusal('page_refused', 'Pages of a name are taken where SVC_PUBLIC_URL has that name, or with a token.');
  };
}
