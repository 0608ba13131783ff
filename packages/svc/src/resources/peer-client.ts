import type { IncomingMessage } from 'node:http';

import { Connections, responseOf } from '@svc/kit/net/connections.ts';
import { mayReach } from '@svc/kit/net/network-coverage.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';

const largestHead = 32 * 1024;

export interface PeerTimes {
  /** Without a byte, before and between them. */
  readonly idleMs: number;
  /** For the whole exchange. */
  readonly totalMs: number;
}

export interface PeerRequest {
  /** The origin of the peer. */
  readonly url: URL;
  /** Of characters that a request target holds as they are. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What the grant lets out. */
  readonly allow: readonly NetworkDestination[];
  readonly times: PeerTimes;
  /** Aborted when the call is given up. */
  readonly signal: AbortSignal;
  /** The host's own when absent. */
  readonly resolver?: HostResolver | undefined;
}

export type PeerExchange<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** The grant does not cover it: no connection was opened. */
  | { readonly kind: 'denied' }
  /** `reason` is a clause about the peer: `nothing listens there`. */
  | { readonly kind: 'failed'; readonly reason: string };

/**
 * One GET of a peer's, on a connection of its own that ends with it. The grant is checked before a name is looked up, the addresses before
 * they are connected to, as for a component (ADR 0035); no redirect is followed. `take` reads the answer and may leave it unread.
 * Rejects with the reason of an aborted signal, and with what `take` throws that is not the connection's.
 */
export async function askPeer<Answer>(
  request: PeerRequest,
  take: (response: IncomingMessage) => Promise<Answer>,
): Promise<PeerExchange<Answer>> {
  const { url, path, headers, allow, times, resolver } = request;
  if (!mayReach(allow, url)) return { kind: 'denied' };
  const reach = { mayReach: (asked: URL) => mayReach(allow, asked) };
  const connections = new Connections({ reach, ...(resolver === undefined ? {} : { resolver }) });
  const idle = new AbortController();
  const total = AbortSignal.timeout(times.totalMs);
  const signal = AbortSignal.any([request.signal, idle.signal, total]);
  try {
    const options = { method: 'GET', path, headers, signal, timeout: times.idleMs, maxHeaderSize: largestHead };
    const asking = connections.send(url, options);
    asking.once('timeout', () => idle.abort());
    const response = responseOf(asking);
    asking.end();
    return { kind: 'answered', answer: await take(await response) };
  } catch (error) {
    request.signal.throwIfAborted();
    if (idle.signal.aborted || total.aborted) return { kind: 'failed', reason: 'it does not answer in time' };
    // Anything that is no connection's error is a bug.
    if (!isNetworkError(error)) throw error;
    return { kind: 'failed', reason: networkReason(error) };
  } finally {
    connections.close();
  }
}
