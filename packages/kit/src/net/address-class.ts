/** Classifies addresses, and says which of them a connection to a permitted host may go to. */

import { BlockList, isIP } from 'node:net';
import type { NetworkDestination } from './network-destination.ts';

/** What an address is for, as far as it matters to who may reach it. */
export type AddressClass =
  | 'public'
  | 'private'
  | 'loopback'
  | 'link-local'
  | 'metadata'
  | 'multicast'
  | 'unspecified'
  | 'documentation'
  | 'reserved';

type Range = readonly [address: string, prefix: number, addressClass: AddressClass];

/** The first range that holds an address decides. */
const ipv4Ranges: readonly Range[] = [
  ['169.254.169.254', 32, 'metadata'],
  ['169.254.170.2', 32, 'metadata'],
  ['100.100.100.200', 32, 'metadata'],
  ['168.63.129.16', 32, 'metadata'],
  ['192.0.0.192', 32, 'metadata'],
  ['127.0.0.0', 8, 'loopback'],
  ['10.0.0.0', 8, 'private'],
  ['172.16.0.0', 12, 'private'],
  ['192.168.0.0', 16, 'private'],
  // Shared between a provider and its customers; private networks between machines use it too.
  ['100.64.0.0', 10, 'private'],
  ['169.254.0.0', 16, 'link-local'],
  ['224.0.0.0', 4, 'multicast'],
  ['0.0.0.0', 8, 'unspecified'],
  ['192.0.2.0', 24, 'documentation'],
  ['198.51.100.0', 24, 'documentation'],
  ['203.0.113.0', 24, 'documentation'],
  ['192.0.0.0', 24, 'reserved'],
  ['192.88.99.0', 24, 'reserved'],
  ['198.18.0.0', 15, 'reserved'],
  // The broadcast address is its last.
  ['240.0.0.0', 4, 'reserved'],
];

const ipv6Ranges: readonly Range[] = [
  ['fd00:ec2::254', 128, 'metadata'],
  ['fd20:ce::254', 128, 'metadata'],
  ['fd00:42::42', 128, 'metadata'],
  ['::1', 128, 'loopback'],
  ['::', 128, 'unspecified'],
  ['fc00::', 7, 'private'],
  ['fe80::', 10, 'link-local'],
  ['ff00::', 8, 'multicast'],
  ['2001:db8::', 32, 'documentation'],
  ['3fff::', 20, 'documentation'],
  // Protocols of their own, Teredo among them, which hides an IPv4 address.
  ['2001::', 23, 'reserved'],
];

/** Where an IPv6 address holds an IPv4 address: mapped, NAT64 and 6to4. */
const embeddings: readonly { readonly before: number; readonly place: (high: string, low: string) => string }[] = [
  { before: 96, place: (high, low) => `::ffff:${high}:${low}` },
  { before: 96, place: (high, low) => `64:ff9b::${high}:${low}` },
  { before: 16, place: (high, low) => `2002:${high}:${low}::` },
];

/** Whatever is in none of these is not in use, or not for everyone. */
const publicIpv6: readonly Range[] = [
  ['2000::', 3, 'public'],
  ['64:ff9b::', 96, 'public'],
  ['::ffff:0:0', 96, 'public'],
];

interface ClassList {
  readonly addressClass: AddressClass;
  readonly holds: BlockList;
}

/** They are made for the first address: most sessions reach only their model, whose address needs no class. */
let ipv4Classes: readonly ClassList[] | null = null;
let ipv6Classes: readonly ClassList[] | null = null;

/**
 * The class of an address as a resolver spells it. Text that is no address counts as reserved, one that names a zone as link-local: neither is
 * reached by chance.
 */
export function classifyAddress(address: string): AddressClass {
  if (address.includes('%')) return 'link-local';
  switch (isIP(address)) {
    case 4:
      ipv4Classes ??= classLists(ipv4Ranges, 'ipv4');
      return ipv4Classes.find(({ holds }) => holds.check(address, 'ipv4'))?.addressClass ?? 'public';
    case 6:
      ipv6Classes ??= classLists([...ipv6Ranges, ...ipv4Ranges.flatMap(embedded), ...publicIpv6], 'ipv6');
      return ipv6Classes.find(({ holds }) => holds.check(address, 'ipv6'))?.addressClass ?? 'reserved';
    default:
      return 'reserved';
  }
}

function classLists(ranges: readonly Range[], family: 'ipv4' | 'ipv6'): readonly ClassList[] {
  return ranges.map(([address, prefix, addressClass]) => {
    const holds = new BlockList();
    holds.addSubnet(address, prefix, family);
    return { addressClass, holds };
  });
}

function embedded([address, prefix, addressClass]: Range): Range[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const high = ((a << 8) | b).toString(16);
  const low = ((c << 8) | d).toString(16);
  return embeddings.map(({ before, place }) => [place(high, low), before + prefix, addressClass]);
}

/**
 * Why a connection for a permitted destination must not go to one of its host's addresses, as a clause; undefined when it may.
 * A named host may be anywhere on the Internet and in private networks, where a company keeps its own hosts. Loopback,
 * link-local, metadata and all other special addresses are reached only when the grants would also let the address itself
 * out, loopback also when they name `localhost`: so no name server gives more than the manifest does (docs/adr/manifest-and-grants.md "One rule for
 * addresses"). Without `mayBePrivate`, addresses of private networks are special too.
 */
export function addressFault(
  mayReach: (destination: NetworkDestination) => boolean,
  destination: NetworkDestination,
  address: string,
  mayBePrivate: boolean = true,
): string | undefined {
  const addressClass = classifyAddress(address);
  if (addressClass === 'public' || (addressClass === 'private' && mayBePrivate)) return undefined;
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

const metadataName = /^metadata(?:\.google\.internal)?\.?$/i;

/** Whether clouds give keys to any program at this host: such an address, or its name. */
export function isMetadataHost(host: string): boolean {
  return (
    metadataName.test(host) || (fixedAddresses(host) ?? []).some((address) => classifyAddress(address) === 'metadata')
  );
}

/** The host that names an address in a destination; a zone has no place there. */
function hostOfAddress(address: string): string | undefined {
  if (isIP(address) === 4) return address;
  if (isIP(address) === 0 || address.includes('%')) return undefined;
  return new URL(`http://[${address}]/`).hostname;
}
