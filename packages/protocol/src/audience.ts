/** Who a shared file is for: `<name>@<host:port>`. */

/** Says to a peer who fetches (D3 "Peer plane" 1). */
export const audienceHeader = 'x-svc-audience';

const longest = 512;

/**
 * `<name>@<host:port>` in lower case: what a handle is bound to and what its fetcher says of itself (D3 "Audience computation"). Both sides
 * make it of the same card, so the host stays as it is spelt there. Undefined when the two name no one who could say so in a header.
 */
export function audienceOf({ name, url }: { readonly name: string; readonly url: string }): string | undefined {
  const host = hostAndPort(url.toLowerCase());
  const audience = `${name.toLowerCase()}@${host ?? ''}`;
  const isSayable = /^[!-~]+$/.test(name) && !/[@,]/.test(name) && audience.length <= longest;
  return host !== undefined && isSayable ? audience : undefined;
}

function hostAndPort(url: string): string | undefined {
  const [, scheme, authority = ''] = /^(?:(https?):\/\/)?([^/]+)\/?$/.exec(url) ?? [];
  if (/^(?:\[[0-9a-z:.%]+\]|[a-z0-9._-]+):[1-9]\d{0,4}$/.test(authority)) return authority;
  if (scheme === undefined || !/^[a-z0-9._-]+$/.test(authority)) return undefined;
  return `${authority}:${scheme === 'https' ? 443 : 80}`;
}
