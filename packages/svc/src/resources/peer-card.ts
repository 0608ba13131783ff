import type { IncomingMessage } from 'node:http';

import { agentCardPath, decodeAgentCard } from '@svc/protocol/agent-card.ts';
import { audienceOf } from '@svc/protocol/audience.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { askPeer, type PeerRequest, type PeerTimes } from './peer-client.ts';
import { readUpTo } from '@svc/kit/files/read-up-to.ts';

export type PeerAudience =
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
  if (audience === undefined) return unreachable('its card has a name or url that it cannot say in a header');
  return { kind: 'audience', audience };
}

function unreachable(reason: string): PeerAudience {
  return { kind: 'unreachable', reason };
}
