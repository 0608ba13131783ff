/** Says where notifications may be pushed to: hosts that the manifest names, at addresses that they may be at. */

import { type AddressClass, classifyAddress, fixedAddresses } from '@svc/kit/net/address-class.ts';
import { covers, destinationOf } from '@svc/kit/net/network-destination.ts';
import type { PushHost } from '../../core/door-core.ts';

/** The most characters of the address that a client gives. */
const maxUrl = 2048;
// No character that reading as a URL would drop or turn into a slash.
const urlShape = /^https?:\/\/[^/\s\\\p{Cc}][^\s\\\p{Cc}]*$/iu;

/** The rule of one capsule (docs/doors.md "Push notifications"). */
export class PushRule {
  readonly #hosts: readonly PushHost[];

  constructor(hosts: readonly PushHost[]) {
    this.#hosts = hosts;
  }

  /** The address that a client gives; else why nothing is pushed there, as a clause. What a name resolves to is asked with each delivery. */
  urlOf(text: string): URL | string {
    if (text.length > maxUrl) return `must have at most ${maxUrl} characters`;
    if (!urlShape.test(text) || !URL.canParse(text)) return 'must be an https address';
    const url = new URL(text);
    if (`${url.username}${url.password}` !== '') return 'must not hold a user or password';
    if (url.hash !== '') return 'must not have a fragment';
    if (this.#hostsOf(url).length === 0) return 'names a host that this agent does not push to';
    if (!this.#hostsOf(url).some((host) => mayUseScheme(host, url))) return 'must be https';
    const [address] = fixedAddresses(url.hostname) ?? [];
    return (address === undefined ? undefined : this.addressFault(url, address)) ?? url;
  }

  /** Why a connection for `url` may not go to an address, as a clause; undefined when it may. */
  addressFault(url: URL, address: string): string | undefined {
    const addressClass = classifyAddress(address);
    if (addressClass === 'public') return undefined;
    const isOpened = isOpenable(addressClass) && this.#hostsOf(url).some(({ isPrivate }) => isPrivate);
    return isOpened ? undefined : `is at a ${addressClass} address, which this agent does not push to`;
  }

  #hostsOf(url: URL): readonly PushHost[] {
    const asked = destinationOf(url);
    return asked === undefined ? [] : this.#hosts.filter(({ destination }) => covers(destination, asked));
  }
}

/** What a manifest can open: addresses that give secrets to anybody, and those that stand for many machines, are never pushed to. */
function isOpenable(addressClass: AddressClass): boolean {
  return addressClass === 'private' || addressClass === 'loopback';
}

/** `https` everywhere; `http` where the manifest says so, and to this machine. */
function mayUseScheme({ destination, isPrivate }: PushHost, url: URL): boolean {
  if (url.protocol === 'https:' || destination.scheme === 'http') return true;
  const addresses = fixedAddresses(url.hostname) ?? [];
  return isPrivate && addresses.length > 0 && addresses.every((address) => classifyAddress(address) === 'loopback');
}
