/** Leads requests for the address of the proxy to what the runtime serves there. */

import { refuse, type ProxyRefusal } from './proxy-refusal.ts';
import type { ProxyTarget } from './proxy-target.ts';
import { headerValues, type RequestHead } from './request-head.ts';

/** A service of the runtime's own, found at the proxy's own address by the processes behind it. */
export interface OwnService {
  /** The port at which those processes find the proxy, on their loopback. */
  readonly proxyPort: number;
  /** The port of the host's loopback to which such a request goes. */
  readonly port: number;
}

export const serviceHost = '127.0.0.1';

/**
 * What a request for the proxy's own address asks of the service behind it; null for any other request. A program may send it in three
 * forms: straight, as to any server; through the proxy it was told of, whole; or in a tunnel through it.
 */
export function ownServiceTarget(head: RequestHead, service: OwnService): ProxyTarget | ProxyRefusal | null {
  const { method, target } = head;
  if (method === 'CONNECT') return isOwnAddress(target, service) ? tunnelTo(head, service) : null;
  if (target.startsWith('/')) {
    const [host = ''] = headerValues(head.headers, 'host');
    if (!isOwnAddress(host, service)) return refuse(400, 'The Host header names another server.');
    return requestTo(target, service);
  }
  const [, authority = '', path = ''] = /^http:\/\/([^/?#]*)(\/[^#]*)?$/i.exec(target) ?? [];
  return isOwnAddress(authority, service) ? requestTo(path === '' ? '/' : path, service) : null;
}

function isOwnAddress(authority: string, { proxyPort }: OwnService): boolean {
  return [`${serviceHost}:${proxyPort}`, `localhost:${proxyPort}`].includes(authority.toLowerCase());
}

function tunnelTo({ framing }: RequestHead, service: OwnService): ProxyTarget | ProxyRefusal {
  if (framing.kind !== 'none') return refuse(400, 'CONNECT has no body.');
  return { kind: 'tunnel', destination: { scheme: 'https', host: serviceHost, port: service.port } };
}

function requestTo(path: string, { port }: OwnService): ProxyTarget {
  const destination = { scheme: 'http', host: serviceHost, port } as const;
  return { kind: 'request', destination, path, host: `${serviceHost}:${port}` };
}
