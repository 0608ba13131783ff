/** Decides whether a destination is granted, and connects to it. */

import type { Socket } from 'node:net';

import { addressFault } from '@svc/kit/net/address-rule.ts';
import { isCovered } from '@svc/kit/net/network-coverage.ts';
import { formatDestination, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { dial } from './dial.ts';
import type { EgressDecision, EgressRules } from './egress-rules.ts';
import { refuse, type ProxyRefusal } from './proxy-refusal.ts';
import type { ProxyTarget } from './proxy-target.ts';
import { checkedAddresses } from '@svc/kit/net/resolver.ts';

export type Opening = { readonly kind: 'open'; readonly socket: Socket } | ProxyRefusal;

/**
 * Decides on a destination and connects to it. A name is asked for only when the grants cover it, so that a name server
 * hears of no other; every address of the answer is checked, one that is refused refuses them all; and the connection goes
 * to a checked address, never to the name. `gone` gives up; its answer reaches nobody.
 */
export async function openUpstream(target: ProxyTarget, rules: EgressRules, gone: AbortSignal): Promise<Opening> {
  const { destination } = target;
  const name = formatDestination(destination);
  const decided = (verdict: EgressDecision['verdict'], reason: string | null): void =>
    rules.onDecision({ destination: name, verdict, reason });
  if (!isCovered(rules.allow, destination)) {
    const reason = notGranted(target, name);
    decided('refused', reason);
    return refuse(403, reason);
  }
  const signal = AbortSignal.any([gone, AbortSignal.timeout(rules.limits.connectMs)]);
  const { allow, resolver, connect } = rules;
  const mayReach = (inner: NetworkDestination): boolean => isCovered(allow, inner);
  const faultOf = (address: string): string | undefined => addressFault({ mayReach, destination, address });
  const checked = await checkedAddresses(destination.host, { resolver, faultOf }, signal);
  if (checked.kind === 'failed') {
    const reason = `${destination.host} has no address here (${checked.reason}).`;
    decided('failed', reason);
    return signal.aborted ? tooSlow(name) : refuse(502, reason);
  }
  if (checked.kind === 'refused') {
    const { fault } = checked;
    const reason = `${destination.host} is refused: it ${fault}, which capabilities.network.allow reaches only by that address.`;
    decided('refused', reason);
    return refuse(403, reason);
  }
  decided('allowed', null);
  const { addresses } = checked;
  const dialed = await dial({ addresses, port: destination.port, connect, signal });
  if (dialed.kind === 'connected') return { kind: 'open', socket: dialed.socket };
  return signal.aborted ? tooSlow(name) : refuse(502, `${name} cannot be reached (${dialed.reason}).`);
}

/** Connects to what the runtime serves behind the proxy's own address. That is no destination, and so there is nothing to decide. */
export async function openService(
  { destination: { host, port } }: ProxyTarget,
  { connect }: EgressRules,
  signal: AbortSignal,
): Promise<Opening> {
  const dialed = await dial({ addresses: [host], port, connect, signal });
  if (dialed.kind === 'connected') return { kind: 'open', socket: dialed.socket };
  return refuse(502, `The service at this address is not there (${dialed.reason}).`);
}

function notGranted({ kind }: ProxyTarget, name: string): string {
  const how = kind === 'tunnel' ? 'A tunnel counts as https://.' : 'A request without a tunnel counts as http://.';
  return `${name} is refused: capabilities.network.allow does not name it. ${how}`;
}

function tooSlow(name: string): ProxyRefusal {
  return refuse(504, `${name} did not answer in time.`);
}
