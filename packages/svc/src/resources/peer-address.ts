import { parseDestination } from '@svc/kit/net/network-destination.ts';

export type PeerAddress =
  | { readonly kind: 'peer'; readonly url: URL }
  /** `reason` is a clause: `has no port`. */
  | { readonly kind: 'malformed'; readonly reason: string };

/** Where a peer listens: `host:port`, which is asked over http, or an `http(s)` URL of nothing but a host and a port (D3 "Agent tools"). */
export function parsePeerAddress(text: string): PeerAddress {
  const reading = parseDestination(text.trim().replace(/\/$/, ''));
  if (reading.kind === 'malformed') return reading;
  const { scheme, host, port } = reading.destination;
  if (port === null) return { kind: 'malformed', reason: 'has no port' };
  return { kind: 'peer', url: new URL(`${scheme ?? 'http'}://${host}:${port}/`) };
}
