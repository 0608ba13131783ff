/** Ends TLS of a contained program for a host that is granted with rules or a credential. */

import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';

import type { BoundHost } from '@svc/kit/keys/bound-host.ts';
import type { BoundNetwork } from './bound-network.ts';

interface OpenedTls {
  readonly socket: Socket;
  readonly host: BoundHost;
}

/**
 * Shakes hands as the host of a tunnel, or as the one of the port of the proxy that the client names. Returns null when that fails within the time: a
 * client that names another host, or speaks HTTP/2 alone, gets no handshake. `client` is owned from now on.
 */
export async function acceptTls(
  client: Socket,
  network: BoundNetwork,
  { tunnelTo, withinMs }: { readonly tunnelTo: BoundHost | null; readonly withinMs: number },
): Promise<OpenedTls | null> {
  let host = tunnelTo;
  const fallback = tunnelTo === null ? {} : { secureContext: network.contextFor(hostnameOf(tunnelTo)) };
  const secure = new TLSSocket(client, {
    isServer: true,
    ALPNProtocols: ['http/1.1'],
    ...fallback,
    SNICallback: (name: string, done: (error: Error | null, context?: SecureContext) => void) => {
      host = tunnelTo ?? network.hosts(new URL(`https://${name}:${network.port}`).origin);
      if (host === null || hostnameOf(host) !== name.toLowerCase()) done(new Error('the client names another host'));
      else done(null, network.contextFor(hostnameOf(host)));
    },
  });
  const isOpen = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => secure.destroy(), withinMs);
    secure.on('error', () => secure.destroy());
    secure.once('secure', () => resolve(true));
    secure.once('close', () => {
      clearTimeout(timer);
      resolve(false);
    });
    secure.once('secure', () => clearTimeout(timer));
  });
  if (isOpen && host !== null) return { socket: secure, host };
  secure.destroy();
  return null;
}

function hostnameOf({ origin }: BoundHost): string {
  return new URL(origin).hostname;
}
