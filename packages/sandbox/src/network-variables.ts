/** Says how a contained process finds its way to the network, and to what the runtime serves it. */

import type { Enforcement } from './launch/compose-plan.ts';
import type { ProcessGrants } from './launch/process-grants.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';

const proxyNames = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];

/**
 * What a process must know of its network. Where the class enforces the allow-list, the proxy is the only way out (ADR 0032).
 * Where it does not, names are looked up over TCP, since no class lets datagrams through.
 */
export function networkVariables(
  { networkAllow }: Pick<ProcessGrants, 'networkAllow'>,
  enforcement: Enforcement['class'],
): Readonly<Record<string, string>> {
  if (networkAllow.length === 0) return {};
  if (enforcement !== 'sealed') return { RES_OPTIONS: 'use-vc' };
  const proxy = `http://127.0.0.1:${egressPort}`;
  return Object.fromEntries(proxyNames.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, proxy]));
}

/** Where contained programs find the egress proxy, inside their own network namespace. */
export const egressPort = 3128;

/**
 * `host:port` at which a contained process finds a port of this host's loopback that its grants name as the runtime's own. In a
 * network of its own that is the address of the proxy, which leads there.
 */
export function serviceAddress(servicePort: number, achieved: ContainmentClass): string {
  return `127.0.0.1:${achieved === 'sealed' ? egressPort : servicePort}`;
}
