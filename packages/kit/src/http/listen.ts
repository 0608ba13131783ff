/** Binds a server to its port without the parts of Node that look up names and serve clusters, and says whether the system let it. */

import type { Server } from 'node:http';
import { isIPv4 } from 'node:net';

export interface BindAddress {
  readonly address: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

export type BindOutcome =
  | { readonly kind: 'bound'; readonly address: string; readonly port: number }
  | { readonly kind: 'port-taken' }
  /** `reason` is the system's error name: `EADDRNOTAVAIL`, `EACCES`, `ENOTFOUND`. */
  | { readonly kind: 'refused'; readonly reason: string };

/** What `listen` of every Node ends in once the address is resolved. It has no documentation, so it is asked for and not taken for granted. */
type ListenResolved = (address: string, port: number, family: 4, backlog: number, fd: -1, flags: 0) => void;

/** Node's own default. */
const backlog = 511;

/**
 * As `server.listen({ host, port })`, with its events and errors. Before it listens at an address Node loads `node:dns`, `node:cluster`,
 * `node:child_process` and `node:dgram`, which takes longer than to listen: an IPv4 address goes past that (docs/adr/start-and-bundle.md "What a start does
 * without").
 */
export function listenAt(server: Server, { host, port }: { readonly host: string; readonly port: number }): void {
  const { _listen2: listenResolved } = server as Server & { readonly _listen2?: ListenResolved };
  if (isIPv4(host) && listenResolved !== undefined) listenResolved.call(server, host, port, 4, backlog, -1, 0);
  else server.listen({ host, port });
}
