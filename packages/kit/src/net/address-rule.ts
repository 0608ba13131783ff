/** Says which addresses of a permitted host a connection may go to. */

import { isIP } from 'node:net';

import type { NetworkDestination } from './network-destination.ts';
import { classifyAddress } from './address-class.ts';

export interface AddressQuestion {
  /** What the grants let out, whoever asks. */
  readonly mayReach: (destination: NetworkDestination) => boolean;
  /** A permitted destination. */
  readonly destination: NetworkDestination;
  /** One its host resolved to, as a resolver spells it. */
  readonly address: string;
}

/**
 * Why a connection for a permitted destination must not go to one of its host's addresses, as a clause; undefined when it may.
 * A named host may be anywhere on the Internet and in private networks, where a company keeps its own hosts. Loopback,
 * link-local, metadata and all other special addresses are reached only when the grants would also let the address itself
 * out, loopback also when they name `localhost`: so no name server gives more than the manifest does (ADR 0035).
 */
export function addressFault({ mayReach, destination, address }: AddressQuestion): string | undefined {
  const addressClass = classifyAddress(address);
  if (addressClass === 'public' || addressClass === 'private') return undefined;
  const host = hostOfAddress(address);
  if (host !== undefined && mayReach({ ...destination, host })) return undefined;
  if (addressClass === 'loopback' && mayReach({ ...destination, host: 'localhost' })) return undefined;
  return `resolves to ${host ?? 'something that is no address'} (${addressClass})`;
}

/** The addresses of a host that no name server is to be asked for: an address itself, and `localhost`. */
export function fixedAddresses(host: string): readonly string[] | undefined {
  if (host === 'localhost') return ['127.0.0.1', '::1'];
  const address = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(address) === 0 ? undefined : [address];
}

/** The host that names an address in a destination; a zone has no place there. */
function hostOfAddress(address: string): string | undefined {
  if (isIP(address) === 4) return address;
  if (isIP(address) === 0 || address.includes('%')) return undefined;
  return new URL(`http://[${address}]/`).hostname;
}
