/** Reaches the MCP server of an artifact that is on the web. */

import { Connections } from '@svc/kit/net/connections.ts';
import { mayReach, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { ProxyFor } from '@svc/kit/net/proxy.ts';
import { AskingCall } from './asking-call.ts';
import { HttpTransport } from './http-transport.ts';
import { ServerConnection, type ServerAnswer, type ToolList } from './server-connection.ts';
import type { ServerTokens } from './server-requests.ts';
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
}

/** A server that is asked over HTTP. */
export function remoteServer(server: RemoteServer): ServerPlace {
  const { url, headers, tokens } = server;
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
            ...(tokens === undefined ? {} : { tokens }),
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
}: Pick<RemoteServer, 'url' | 'allow' | 'proxyFor'>): Promise<Connections> {
  const reach = { mayReach: (asked: URL) => asked.origin === url.origin || mayReach(allow, asked) };
  if (proxyFor === null) return new Connections({ reach });
  const { ProxiedConnections } = await import('@svc/kit/net/proxied-connections.ts');
  return new Connections({ reach, proxied: new ProxiedConnections(proxyFor) });
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
