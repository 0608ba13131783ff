import type { IncomingMessage } from 'node:http';

import { Connections } from '@svc/components/outbound/connections.ts';
import { ConnectionRefusal, httpErrorCode, type HttpErrorCode } from '@svc/components/outbound/http-error-code.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';
import { errorCode, isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { mayReach } from '@svc/kit/net/network-coverage.ts';
import type { NetworkDestination } from '@svc/kit/net/network-destination.ts';

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
  /** `reason` is a clause about the peer: `it refuses connections`. */
  | { readonly kind: 'failed'; readonly reason: string };

/**
 * One GET of a peer's, on a connection of its own that ends with it. The grant is checked before a name is looked up, the addresses before
 * they are connected to, as for a component (contracts §4); no redirect is followed. `take` reads the answer and may leave it unread.
 * Rejects with the reason of an aborted signal, and with what `take` throws that is not the connection's.
 */
export async function askPeer<Answer>(
  request: PeerRequest,
  take: (response: IncomingMessage) => Promise<Answer>,
): Promise<PeerExchange<Answer>> {
  const { url, allow, times, resolver } = request;
  if (!mayReach(allow, url)) return { kind: 'denied' };
  const grants = { mayReach: (asked: URL) => mayReach(allow, asked) };
  const connections = new Connections({ grants, ...(resolver === undefined ? {} : { resolver }) });
  const idle = new AbortController();
  const total = AbortSignal.timeout(times.totalMs);
  const signal = AbortSignal.any([request.signal, idle.signal, total]);
  try {
    const response = await responseOf(connections, request, { signal, onIdle: () => idle.abort() });
    return { kind: 'answered', answer: await take(response) };
  } catch (error) {
    request.signal.throwIfAborted();
    if (idle.signal.aborted || total.aborted) return { kind: 'failed', reason: 'it does not answer in time' };
    return { kind: 'failed', reason: reasonOf(error) };
  } finally {
    connections.close();
  }
}

interface Waiting {
  readonly signal: AbortSignal;
  readonly onIdle: () => void;
}

const largestHead = 32 * 1024;

function responseOf(
  connections: Connections,
  { url, path, headers, times }: PeerRequest,
  { signal, onIdle }: Waiting,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { method: 'GET', path, headers, signal, timeout: times.idleMs, maxHeaderSize: largestHead };
    const asking = connections.send(url, options);
    asking.once('response', resolve);
    asking.once('timeout', onIdle);
    asking.on('error', reject);
    // Node closes a connection whose server would speak another protocol (101) and tells no more than that.
    asking.once('close', () => reject(new ConnectionRefusal({ tag: 'HTTP-protocol-error' })));
    asking.end();
  });
}

const reasons: Partial<Record<HttpErrorCode['tag'], string>> = {
  'connection-refused': 'it refuses connections',
  'connection-terminated': 'it closed the connection',
  'destination-unavailable': 'no way leads to its address',
  'destination-IP-prohibited': 'its name resolves to an address that the grant does not name',
  'DNS-error': 'its name has no address',
  'DNS-timeout': 'its name could not be looked up in time',
  'TLS-certificate-error': 'its certificate is not trusted',
  'TLS-protocol-error': 'it does not speak TLS',
  'HTTP-protocol-error': 'it does not speak HTTP',
};

/** Anything that is no connection's error is a bug. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) throw error;
  const code = httpErrorCode(error);
  const isConnections = error instanceof ConnectionRefusal || isSystemError(error) || code.tag !== 'internal-error';
  if (!isConnections) throw error;
  return reasons[code.tag] ?? `the connection failed (${errorCode(error) ?? code.tag})`;
}
