/** Names the storage that refused where a registry has led to it: the login and the key are for the registry alone. */

import type { HttpAnswer } from '@svc/kit/net/http-client.ts';

/** Who else refused, as a clause of its own behind the status, and what to do about that. */
export interface RefusedElsewhere {
  readonly by: string;
  readonly hint: string;
}

/** Returns null where the origin that was asked has answered for itself. Storage may also answer under its address: in XML, as no registry does. */
export function refusedElsewhere({ from, headers }: HttpAnswer, asked: URL): RefusedElsewhere | null {
  const { host, origin } = from.url;
  const isXml = /^(?:application|text)\/xml\b/i.test(headers['content-type'] ?? '');
  if (origin === asked.origin && !isXml) return null;
  const [by, storage] =
    origin === asked.origin ? [', storage', 'its storage'] : [` from ${host}`, `${host}, its storage`];
  return {
    by,
    hint:
      `it led to ${storage}, where no login of yours counts: run the command again, for such a link is soon too old; ` +
      'if it stays, look at a proxy or firewall in between, and ask who runs the registry about its storage',
  };
}
