import { lookup } from 'node:dns/promises';

import { errorCode } from '../diagnostics/system-reason.ts';
import { fixedAddresses } from './address-rule.ts';

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
      return { kind: 'failed', reason: errorCode(error) ?? 'unknown' };
    }
  },
};

/**
 * The addresses of a host, at least one. Asks nobody about an address or `localhost`. `failed` with `ETIMEDOUT` once the signal is
 * aborted, with `ENODATA` for an answer that names none.
 */
export async function addressesOf(host: string, resolver: HostResolver, signal: AbortSignal): Promise<Resolution> {
  const fixed = fixedAddresses(host);
  if (fixed !== undefined) return { kind: 'addresses', addresses: fixed };
  let stop = (): void => {};
  const aborted = new Promise<Resolution>((resolve) => {
    stop = () => resolve({ kind: 'failed', reason: 'ETIMEDOUT' });
  });
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  const resolution = await Promise.race([resolver.resolve(host), aborted]);
  signal.removeEventListener('abort', stop);
  const isEmpty = resolution.kind === 'addresses' && resolution.addresses.length === 0;
  return isEmpty ? { kind: 'failed', reason: 'ENODATA' } : resolution;
}
