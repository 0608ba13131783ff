import { lookup } from 'node:dns/promises';

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
      return { kind: 'failed', reason: (error as NodeJS.ErrnoException).code ?? 'unknown' };
    }
  },
};
