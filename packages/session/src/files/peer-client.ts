/** Asks another capsule for its card and its files. */

import type { IncomingMessage } from 'node:http';

import { Connections, responseOf } from '@svc/kit/net/connections.ts';
import { mayReach, type NetworkDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';
import { agentCardPath, decodeAgentCard } from '@svc/protocol/agent-card.ts';
import { audienceOf } from '@svc/protocol/audience.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';

const largestHead = 32 * 1024;

export interface PeerTimes {
  /** Without a byte, before and between them. */
  readonly idleMs: number;
  /** The time for the whole exchange. */
  readonly totalMs: number;
}

interface PeerRequest {
  /** The origin of the peer. */
  readonly url: URL;
  /** A path of characters that a request target holds unescaped. */
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

type PeerExchange<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** The grant does not cover it: no connection was opened. */
  | { readonly kind: 'denied' }
  /** `reason` is a clause about the peer: `nothing listens there`. */
  | { readonly kind: 'failed'; readonly reason: string };

/**
 * One GET of a peer's, on a connection of its own that ends with it. The grant is checked before a name is looked up, the addresses before
 * they are connected to, as for a component (docs/adr/manifest-and-grants.md "One rule for addresses"); no redirect is followed. `take` reads the answer and
 * may leave it unread. Rejects with the reason of an aborted signal, and with what `take` throws that is not the connection's.
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

type PeerAddress =
  | { readonly kind: 'peer'; readonly url: URL }
  /** `reason` is a clause: `has no port`. */
  | { readonly kind: 'malformed'; readonly reason: string };

/** Where a peer listens: `host:port`, which is asked over http, or an `http(s)` URL of just a host and a port (D3 "Agent tools"). */
export function parsePeerAddress(text: string): PeerAddress {
  const reading = parseDestination(text.trim().replace(/\/$/, ''));
  if (reading.kind === 'malformed') return reading;
  const { scheme, host, port } = reading.destination;
  if (port === null) return { kind: 'malformed', reason: 'has no port' };
  return { kind: 'peer', url: new URL(`${scheme ?? 'http'}://${host}:${port}/`) };
}

type PeerAudience =
  | { readonly kind: 'audience'; readonly audience: string }
  /** `reason` is a clause about the peer: `its card has no name and url`. */
  | { readonly kind: 'unreachable'; readonly reason: string };

const largestCardBytes = 64 * 1024;
const cardTimes: PeerTimes = { idleMs: 10_000, totalMs: 20_000 };

/** Who a peer says it is: the audience that its card makes (D3 "Audience computation"). The card of every capsule is open. */
export async function fetchAudience(
  peer: Pick<PeerRequest, 'url' | 'allow' | 'signal' | 'resolver'> & { readonly times?: PeerTimes | undefined },
): Promise<PeerAudience> {
  const path = agentCardPath;
  const exchange = await askPeer({ ...peer, times: peer.times ?? cardTimes, path, headers: {} }, takeAudience);
  switch (exchange.kind) {
    case 'answered':
      return exchange.answer;
    case 'denied':
      return unreachable(`capabilities.network.allow does not cover ${peer.url.origin}`);
    case 'failed':
      return unreachable(exchange.reason);
  }
}

async function takeAudience(response: IncomingMessage): Promise<PeerAudience> {
  if (response.statusCode !== 200) return unreachable(`it answered ${response.statusCode} when asked for its card`);
  const bytes = await readUpTo(response, largestCardBytes);
  if (bytes === undefined) return unreachable(`its card is larger than ${largestCardBytes} bytes`);
  const text = parseJsonText(bytes.toString('utf8'));
  const card = text.kind === 'json' ? decodeAgentCard(text.value) : undefined;
  if (card === undefined) return unreachable('its card has no name and url');
  const audience = audienceOf(card);
  if (audience === undefined) return unreachable('its agent card has a name or URL that is not valid in a header');
  return { kind: 'audience', audience };
}

function unreachable(reason: string): PeerAudience {
  return { kind: 'unreachable', reason };
}
