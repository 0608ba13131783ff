/** Reaches the MCP server of an artifact that is on the web. */

import { Connections } from '@svc/kit/net/connections.ts';
import { mayReach, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';
import { AskingCall } from './asking-call.ts';
import { HttpTransport } from './http-transport.ts';
import { ServerConnection, type ServerAnswer, type ToolList } from './server-connection.ts';
import type { ServerTokens, ServerTraffic } from './server-requests.ts';
import type { ServerPlace } from './tool-server.ts';

export interface RemoteServer {
  readonly url: URL;
  /** Where its name may lead beside the public web: its own address counts as named. */
  readonly allow: readonly NetworkDestination[];
  /** Is null if nothing goes through a proxy. */
  readonly proxyFor: ProxyFor | null;
  /** What each request shows. */
  readonly headers: Readonly<Record<string, string>>;
  /** The login that each request shows a token of besides. */
  readonly tokens?: ServerTokens;
  readonly traffic?: ServerTraffic;
  /** The host's own when absent. */
  readonly resolver?: HostResolver;
}

interface ServerAddress extends Pick<RemoteServer, 'url' | 'allow' | 'proxyFor' | 'resolver'> {
  /** Whether its name may lead into private networks: a person names it now. */
  readonly mayBePrivate?: boolean;
}

/** A server that is asked over HTTP. */
export function remoteServer(server: RemoteServer): ServerPlace {
  const { url, headers, tokens, traffic } = server;
  const parts = { ...(tokens === undefined ? {} : { tokens }), ...(traffic === undefined ? {} : { traffic }) };
  return {
    connect: async ({ version, onListChanged }) => {
      const connections = await connectionsTo(server);
      const connection = await ServerConnection.open({
        version,
        asksRevision: true,
        asking: AskingCall,
        transportOf: (sdk) =>
          new HttpTransport({
            url,
            connections,
            headers,
            onListChanged,
            sdk,
            ...parts,
          }),
      });
      return { kind: 'connected', connection };
    },
  };
}

/** Each address that a name leads to is judged (docs/adr/manifest-and-grants.md "One rule for addresses"); a proxy judges by the name. */
export async function connectionsTo({
  url,
  allow,
  proxyFor,
  resolver,
  mayBePrivate = false,
}: ServerAddress): Promise<Connections> {
  const mayReachIt = (asked: URL): boolean => asked.origin === url.origin || mayReach(allow, asked);
  const judged = { reach: { mayReach: mayReachIt, mayBePrivate }, ...(resolver === undefined ? {} : { resolver }) };
  if (proxyFor === null) return new Connections(judged);
  const { ProxiedConnections } = await import('@svc/kit/net/proxied-connections.ts');
  return new Connections({ ...judged, proxied: new ProxiedConnections(proxyFor) });
}

interface Asking {
  /** The version of this program, as the server sees it. */
  readonly version: string;
  /** For all that is asked. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What a server lists now, as it wrote it. */
export async function listedAt(server: RemoteServer, { version, ...limits }: Asking): Promise<ServerAnswer<ToolList>> {
  const outcome = await remoteServer(server).connect({ version, onListChanged: () => {} });
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  const { connection } = outcome;
  try {
    const greeted = await connection.initialize(limits);
    return greeted.kind === 'failed' ? greeted : await connection.list(limits);
  } finally {
    await connection.close();
  }
}
