/** What a process in a network of its own meets of hosts that are granted with rules or a credential. */

import type { ClientRequest, RequestOptions } from 'node:http';
import type { SecureContext } from 'node:tls';

import type { BoundHosts } from '@svc/kit/keys/bound-host.ts';

/** The hosts as one subject meets them, and the ways to them. */
export interface BoundNetwork {
  readonly hosts: BoundHosts;
  /** The origin of a gateway by its name: the first segment of a path at the address of the proxy. */
  readonly gateways: ReadonlyMap<string, string>;
  /** Where the proxy listens: a program that knows of no proxy finds the hosts of this port there by their names. */
  readonly port: number;
  /** Files that stand in the root in the place of others. */
  readonly covers: readonly { readonly source: string; readonly target: string }[];
  /** Variables for its programs. */
  readonly variables: Readonly<Record<string, string>>;
  /** The certificate for a host, signed by the authority of the session. */
  readonly contextFor: (host: string) => SecureContext;
  /** Whether the proxy leaves its decisions out of the log. */
  readonly isTrial?: true;
  /** Starts a request to one of the hosts, over connections that are kept; checks its address and its certificate. */
  readonly send: (url: URL, options: RequestOptions) => ClientRequest;
}
