import type { ContainmentClass } from '@svc/protocol/containment-class.ts';

/** Where contained programs find the egress proxy, inside their own network namespace. */
export const egressPort = 3128;

/**
 * `host:port` at which a contained process finds a port of this host's loopback that its grants name as the runtime's own. In a
 * network of its own that is the address of the proxy, which leads there.
 */
export function serviceAddress(servicePort: number, achieved: ContainmentClass): string {
  return `127.0.0.1:${achieved === 'sealed' ? egressPort : servicePort}`;
}
