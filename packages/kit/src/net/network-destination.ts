/** Reads and compares network destinations: which one a grant names, which another one covers, and which a URL is. */

/**
 * One place in a network a capsule may reach. Without a scheme, a missing port means every port; with one, the port is
 * always there, the scheme's default when it was not written (D2 "Spawn envelope rules", docs/protocol.md "The referee").
 */
export type NetworkDestination =
  | { readonly scheme: null; readonly host: string; readonly port: number | null }
  | { readonly scheme: 'http' | 'https'; readonly host: string; readonly port: number };

type DestinationReading =
  | { readonly kind: 'destination'; readonly destination: NetworkDestination }
  /** `reason` is a clause: `has a path`. */
  | { readonly kind: 'malformed'; readonly reason: string };

const defaultPorts: Readonly<Record<'http' | 'https', number>> = { http: 80, https: 443 };

const schemeShape = /^([a-z][a-z0-9+.-]*):\/\//i;
const authorityShape = /^(\[[0-9a-f:.]+\]|[^[\]:]+)(?::([1-9]\d{0,4}))?$/i;
const nameShape = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
const longest = 300;

/** Reads `host`, `host:port` or `http(s)://host[:port]`; an IPv6 address stands in brackets (docs/manifest.md "Keys"). */
export function parseDestination(text: string): DestinationReading {
  if (text.length > longest) return malformed('is too long');
  const [prefix = '', written] = schemeShape.exec(text) ?? [];
  const scheme = written?.toLowerCase() ?? null;
  if (scheme !== null && scheme !== 'http' && scheme !== 'https')
    return malformed('has a scheme that is not http or https');
  const authority = text.slice(prefix.length);
  const extra = extraPart(authority);
  if (extra !== undefined) return malformed(extra);
  const [, writtenHost, writtenPort] = authorityShape.exec(authority) ?? [];
  if (writtenHost === undefined) return malformed('is not a host with an optional port');
  const port = writtenPort === undefined ? null : Number(writtenPort);
  if (port !== null && port > 65_535) return malformed('has a port above 65535');
  const host = canonicalHost(writtenHost);
  if (host === undefined) return malformed('does not name a host');
  if (scheme === null) return { kind: 'destination', destination: { scheme, host, port } };
  return { kind: 'destination', destination: { scheme, host, port: port ?? defaultPorts[scheme] } };
}

/** The shortest text that reads back as the same destination. */
export function formatDestination({ scheme, host, port }: NetworkDestination): string {
  if (scheme === null) return port === null ? host : `${host}:${port}`;
  return port === defaultPorts[scheme] ? `${scheme}://${host}` : `${scheme}://${host}:${port}`;
}

function extraPart(authority: string): string | undefined {
  if (authority === '') return 'is empty';
  if (authority.includes('*')) return 'has a wildcard, name each host';
  if (authority.includes('@')) return 'has a user part';
  if (authority.includes('?')) return 'has a query';
  if (authority.includes('#')) return 'has a fragment';
  if (/[/\\]/.test(authority)) return 'has a path';
  // A URL would drop or decode these, and the entry would name another host than it shows.
  return /[\s%\p{Cc}\p{Cf}]/u.test(authority) ? 'does not name a host' : undefined;
}

/** The host as a URL spells it, so that `127.1` and `127.0.0.1` are one place; IPv6 keeps its brackets. */
function canonicalHost(host: string): string | undefined {
  const address = URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`).hostname : '';
  return address.startsWith('[') || nameShape.test(address) ? address : undefined;
}

function malformed(reason: string): DestinationReading {
  return { kind: 'malformed', reason };
}

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
