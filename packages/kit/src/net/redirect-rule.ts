/** Says where a redirect may lead, so that a server outside cannot point a client at this machine or its networks. */

import type { LookupFunction } from 'node:net';
import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { printable } from '../diagnostics/printable.ts';
import { type AddressClass, classifyAddress, fixedAddresses } from './address-class.ts';
import { endpointFault } from './endpoint.ts';
import { checkedLookup, systemResolver } from './resolver.ts';

/** Where a redirect may lead, from who gave it. */
export interface RedirectSource {
  /** For messages. */
  readonly label: string;
  readonly url: URL;
  /** The address that answered; null where a proxy connected. */
  readonly address: string | null;
  /** The refusal of a place that it leads to; `E-REG-027` of a redirect when absent. */
  readonly refusal?: (place: string, why: string) => Diagnostic;
}

/**
 * The address of a redirect, held to the rule of every address that is configured, except a query and a fragment: `https`, or `http` to this machine,
 * without a user or password. Nobody leads from `https` to `http`, nor from the Internet into the networks of this machine: `E-REG-027`. A name is
 * judged by what it resolves to, with `lookupWithin`.
 */
export function redirectTarget(location: string, source: RedirectSource): URL {
  const target = URL.canParse(location, source.url.href) ? new URL(location, source.url) : null;
  if (target === null || endpointFault(target.origin) !== undefined)
    throw refusal(location, source, 'which is no https address');
  if (target.username !== '' || target.password !== '')
    throw refusal(target.origin, source, 'with a user or password that it chose');
  if (source.url.protocol === 'https:' && target.protocol === 'http:')
    throw refusal(location, source, 'which is not https');
  const reach = reachOf(source);
  const fixed = fixedAddress(target);
  if (fixed !== null && !isWithin(reach, fixed)) throw refusal(location, source, `which is ${describe(fixed)}`);
  return target;
}

/** Looks names up, and refuses those that lead where a redirect of `source` may not. `resolver` is the host's own when absent. */
export function lookupWithin(source: RedirectSource, resolveMs: number, resolver = systemResolver): LookupFunction {
  const reach = reachOf(source);
  return (host, options, callback) => {
    const faultOf = (address: string): Diagnostic | undefined =>
      isWithin(reach, address) ? undefined : refusal(host, source, `which is ${describe(address)}`);
    checkedLookup({ resolver, faultOf }, resolveMs)(host, options, callback);
  };
}

/** From this machine one gets everywhere, from a private network into private ones, and from elsewhere to what is public. */
type Reach = 'anywhere' | 'private' | 'public';

function reachOf({ url, address }: RedirectSource): Reach {
  const from = address ?? fixedAddress(url);
  const addressClass: AddressClass = from === null ? 'public' : classifyAddress(from);
  if (addressClass === 'loopback') return 'anywhere';
  return addressClass === 'private' ? 'private' : 'public';
}

function isWithin(reach: Reach, address: string): boolean {
  const addressClass = classifyAddress(address);
  return addressClass === 'public' || reach === 'anywhere' || (reach === 'private' && addressClass === 'private');
}

/** Returns null for a name that has to be looked up. */
function fixedAddress({ hostname }: URL): string | null {
  const [address = null] = fixedAddresses(hostname.endsWith('.localhost') ? 'localhost' : hostname) ?? [];
  return address;
}

function describe(address: string): string {
  return `${address}, a ${classifyAddress(address)} address`;
}

function refusal(location: string, { label, refusal: own }: RedirectSource, why: string): Diagnostic {
  const place = printable(location.slice(0, 200));
  if (own !== undefined) return own(place, why);
  return new Diagnostic('E-REG-027', `${label} redirects to ${place}, ${why}`, {
    hint: 'name the address itself where you configure the registry, if you trust it',
  });
}
