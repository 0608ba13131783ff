/** Compares network grants: which destination another one covers, and which a URL is. */

import { defaultPorts, formatDestination, type NetworkDestination } from './network-destination.ts';

/**
 * True when whatever `inner` reaches, `outer` reaches too: a host covers every form of that host, `host:port` that port under
 * any scheme, a form with a scheme only itself (D2 "Spawn envelope rules", docs/protocol.md "The referee").
 */
export function covers(outer: NetworkDestination, inner: NetworkDestination): boolean {
  if (outer.host !== inner.host) return false;
  if (outer.scheme !== null) return inner.scheme === outer.scheme && inner.port === outer.port;
  return outer.port === null || inner.port === outer.port;
}

/** The entries that cover `inner`, each as `formatDestination` spells it: no other entry does. */
export function coveringEntries(inner: NetworkDestination): readonly string[] {
  const { scheme, host, port } = inner;
  const entries = [host];
  if (port !== null) entries.push(formatDestination({ scheme: null, host, port }));
  if (scheme !== null) entries.push(formatDestination(inner));
  return entries;
}

/** True when one entry of the list covers `inner`. */
export function isCovered(allow: readonly NetworkDestination[], inner: NetworkDestination): boolean {
  return allow.some((outer) => covers(outer, inner));
}

/** True when the list lets a request to `url` out. Only `http` and `https` ever are. */
export function mayReach(allow: readonly NetworkDestination[], url: URL): boolean {
  const inner = destinationOf(url);
  return inner !== undefined && isCovered(allow, inner);
}

/** The one destination a URL names; undefined unless it is `http` or `https`. */
export function destinationOf(url: URL): NetworkDestination | undefined {
  const scheme = url.protocol.slice(0, -1);
  if (scheme !== 'http' && scheme !== 'https') return undefined;
  return { scheme, host: url.hostname, port: url.port === '' ? defaultPorts[scheme] : Number(url.port) };
}
