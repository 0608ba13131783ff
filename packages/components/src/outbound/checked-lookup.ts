import { isIP, type LookupFunction } from 'node:net';

import { addressesOf, type HostResolver } from '@svc/kit/net/resolver.ts';
import { addressFault } from '@svc/kit/net/address-rule.ts';
import { destinationOf } from '@svc/kit/net/network-coverage.ts';
import { ConnectionRefusal, type HttpErrorCode } from './http-error-code.ts';
import type { HttpGrants } from './request-plan.ts';

/** Each is tried in turn: a name server does not decide how many. */
const mostAddresses = 8;

export interface LookupRequest {
  /** Of a request that the grants permit. */
  readonly url: URL;
  readonly grants: HttpGrants;
  readonly resolver: HostResolver;
  readonly resolveMs: number;
}

type Lookup =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  | { readonly kind: 'refused'; readonly error: HttpErrorCode };

/**
 * Gives a socket the addresses it may connect to, all of them checked: one that the rule refuses refuses the whole answer
 * (contracts §4). For connections to the host of `url` alone, whatever name it is called with; a socket for a host that is
 * an address does not ask.
 */
export function checkedLookup(request: LookupRequest): LookupFunction {
  return (_, __, callback) => {
    void checkedAddresses(request).then((lookup) => {
      if (lookup.kind === 'refused') return callback(new ConnectionRefusal(lookup.error), []);
      return callback(
        null,
        lookup.addresses.map((address) => ({ address, family: isIP(address) })),
      );
    });
  };
}

async function checkedAddresses({ url, grants, resolver, resolveMs }: LookupRequest): Promise<Lookup> {
  const time = new AbortController();
  // Whoever waits for the request keeps the process alive; a request that was given up does not.
  const timer = setTimeout(() => time.abort(), resolveMs).unref();
  const resolution = await addressesOf(url.hostname, resolver, time.signal);
  clearTimeout(timer);
  if (time.signal.aborted) return { kind: 'refused', error: { tag: 'DNS-timeout' } };
  if (resolution.kind === 'failed') return noAddress(resolution.reason);
  const { addresses } = resolution;
  const permitted = url.origin === grants.endpointOrigin || addresses.every((address) => mayBeAt(url, address, grants));
  if (!permitted) return { kind: 'refused', error: { tag: 'destination-IP-prohibited' } };
  return { kind: 'addresses', addresses: addresses.slice(0, mostAddresses) };
}

function mayBeAt(url: URL, address: string, grants: HttpGrants): boolean {
  const destination = destinationOf(url);
  if (destination === undefined) return false;
  const port = url.port === '' ? '' : `:${url.port}`;
  // Made anew: a URL whose host is set to what is none keeps the one it had, which is permitted.
  const mayReach = ({ host }: { readonly host: string }): boolean =>
    grants.mayReach(new URL(`${url.protocol}//${host}${port}/`));
  return addressFault({ mayReach, destination, address }) === undefined;
}

function noAddress(rcode: string): Lookup {
  return { kind: 'refused', error: { tag: 'DNS-error', val: { rcode, infoCode: undefined } } };
}
