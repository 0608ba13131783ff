/** Resolves host names, and checks every address before anything connects to it. */

import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';

import { errorCode } from '../diagnostics/system-reason.ts';
import { fixedAddresses } from './address-class.ts';

export type Resolution =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  /** `reason` is the system's word for it: `ENOTFOUND`. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Asks for the addresses of a host name, in the order they are to be tried. Never rejects. */
export interface HostResolver {
  resolve(host: string): Promise<Resolution>;
}

/** The host's own way from names to addresses: its files and its name servers. */
export const systemResolver: HostResolver = {
  async resolve(host) {
    try {
      const answers = await lookup(host, { all: true, verbatim: true });
      return { kind: 'addresses', addresses: answers.map(({ address }) => address) };
    } catch (error) {
      // Whatever the resolver has against a name, the name has no address here.
      return { kind: 'failed', reason: errorCode(error) ?? 'ENOTFOUND' };
    }
  },
};

/** Each is tried in turn: a name server does not decide how many. */
const maxAddresses = 8;

interface AddressCheck<Fault> {
  readonly resolver: HostResolver;
  /** What is against a connection to an address, as a resolver spells it; undefined when it may be made. */
  readonly faultOf: (address: string) => Fault | undefined;
}

type CheckedAddresses<Fault> = Resolution | { readonly kind: 'refused'; readonly fault: Fault };

/**
 * The addresses that a connection to a host may go to, from one to eight. One that is refused refuses the whole answer (docs/adr/manifest-and-grants.md "One
 * rule for addresses"). Asks nobody about an address or `localhost`. `failed` with `ETIMEOUT` once the signal is aborted, with `ENODATA` for an answer that
 * names none.
 */
export async function checkedAddresses<Fault>(
  host: string,
  { resolver, faultOf }: AddressCheck<Fault>,
  signal: AbortSignal,
): Promise<CheckedAddresses<Fault>> {
  const resolution = await addressesOf(host, resolver, signal);
  if (resolution.kind === 'failed') return resolution;
  const { addresses } = resolution;
  for (const address of addresses) {
    const fault = faultOf(address);
    if (fault !== undefined) return { kind: 'refused', fault };
  }
  return { kind: 'addresses', addresses: addresses.slice(0, maxAddresses) };
}

/** A name without an address, reported as Node reports it. */
export class NoAddress extends Error {
  readonly syscall = 'getaddrinfo';
  readonly code: string;

  constructor(host: string, code: string) {
    super(`${host} has no address here (${code})`);
    this.code = code;
  }
}

/**
 * Gives a socket its checked addresses, or the fault of one, or `NoAddress`. The resolver has `resolveMs` to answer; a socket for a host that
 * is an address does not ask it.
 */
export function checkedLookup(check: AddressCheck<Error>, resolveMs: number): LookupFunction {
  return (host, { all }, callback) => {
    void checkedAddresses(host, check, AbortSignal.timeout(resolveMs)).then((checked) => {
      if (checked.kind === 'refused') return callback(checked.fault, []);
      if (checked.kind === 'failed') return callback(new NoAddress(host, checked.reason), []);
      const found = checked.addresses.map((address) => ({ address, family: isIP(address) }));
      return all === true ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family);
    });
  };
}

async function addressesOf(host: string, resolver: HostResolver, signal: AbortSignal): Promise<Resolution> {
  const fixed = fixedAddresses(host);
  if (fixed !== undefined) return { kind: 'addresses', addresses: fixed };
  let stop = (): void => {};
  const aborted = new Promise<Resolution>((resolve) => {
    stop = () => resolve({ kind: 'failed', reason: 'ETIMEOUT' });
  });
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  const resolution = await Promise.race([resolver.resolve(host), aborted]);
  signal.removeEventListener('abort', stop);
  const isEmpty = resolution.kind === 'addresses' && resolution.addresses.length === 0;
  return isEmpty ? { kind: 'failed', reason: 'ENODATA' } : resolution;
}
