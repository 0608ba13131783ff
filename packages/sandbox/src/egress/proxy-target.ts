/** Reads from a request where it wants to go. */

import { parseDestination, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { type RequestHead, headerValues, refuse, type ProxyRefusal } from './message-heads.ts';

/** What a request asks of the proxy. A tunnel counts as `https`, which it is for, and a request to be passed on as `http`. */
export type ProxyTarget =
  | { readonly kind: 'tunnel'; readonly destination: GrantableDestination }
  | {
      readonly kind: 'request';
      readonly destination: GrantableDestination;
      /** What the upstream server is asked for: a path with its query, or `*`. */
      readonly path: string;
      /** The `Host` header for the upstream server. */
      readonly host: string;
    };

type GrantableDestination = Extract<NetworkDestination, { readonly scheme: 'http' | 'https' }>;

const absoluteForm = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(.*)$/;

/**
 * Reads the target of a sound request. The host comes out as grants spell hosts: lower case, no final dot, an address in its
 * one spelling; what cannot be spelled so is refused (docs/manifest.md "Keys").
 */
export function parseTarget(head: RequestHead): ProxyTarget | ProxyRefusal {
  return head.method === 'CONNECT' ? parseTunnel(head) : parseAbsolute(head);
}

function parseTunnel({ target, framing }: RequestHead): ProxyTarget | ProxyRefusal {
  if (framing.kind !== 'none') return refuse(400, 'CONNECT has no body.');
  const reading = readAuthority('https', target);
  if (reading.kind === 'refused') return reading;
  if (!/:\d+$/.test(target)) return refuse(400, 'CONNECT needs a host and a port.');
  return { kind: 'tunnel', destination: reading.destination };
}

function parseAbsolute({ method, target }: RequestHead): ProxyTarget | ProxyRefusal {
  const [, scheme, authority = '', rest = ''] = absoluteForm.exec(target) ?? [];
  if (scheme === undefined) return refuse(400, 'This is a proxy: ask with CONNECT or for a whole http:// address.');
  if (scheme.toLowerCase() === 'https') return refuse(400, 'An https:// address is reached through CONNECT.');
  if (scheme.toLowerCase() !== 'http') return refuse(400, 'Only http:// addresses are passed on.');
  if (rest.includes('#')) return refuse(400, 'A fragment is no part of a request.');
  const reading = readAuthority('http', authority);
  if (reading.kind === 'refused') return reading;
  const { destination } = reading;
  const host = destination.port === 80 ? destination.host : `${destination.host}:${destination.port}`;
  return { kind: 'request', destination, path: pathOf(method, rest), host };
}

function pathOf(method: string, rest: string): string {
  if (rest === '' && method === 'OPTIONS') return '*';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

type AuthorityReading = { readonly kind: 'read'; readonly destination: GrantableDestination } | ProxyRefusal;

function readAuthority(scheme: 'http' | 'https', authority: string): AuthorityReading {
  const reading = parseDestination(`${scheme}://${authority.replace(/^([^:]*[^:.])\.(?=$|:)/, '$1')}`);
  if (reading.kind === 'malformed') return refuse(400, `The destination ${reading.reason}.`);
  const { destination } = reading;
  // The scheme was written, so it was read.
  if (destination.scheme === null) return refuse(400, 'The destination has no scheme.');
  return { kind: 'read', destination };
}

/** A service of the runtime's own, found at the proxy's own address by the processes behind it. */
export interface OwnService {
  /** The port at which those processes find the proxy, on their loopback. */
  readonly proxyPort: number;
  /** The port of the host's loopback to which such a request goes. */
  readonly port: number;
}

const serviceHost = '127.0.0.1';

/**
 * What a request for the proxy's own address asks of the service behind it; null for any other request. A program may send it in three
 * forms: straight, as to any server; through its configured proxy, whole; or in a tunnel through it.
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
