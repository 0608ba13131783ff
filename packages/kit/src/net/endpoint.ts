/** Says which addresses may be configured: `https` to any host, `http` to this machine alone. */

// No character that reading as a URL would drop or turn into a slash.
const addressShape = /^https?:\/\/[^/\s\\\p{Cc}][^\s\\\p{Cc}]*$/iu;

/** Why `inference.endpoint` is refused, as a clause; undefined when it is allowed: `https` to any host, `http` to loopback (docs/manifest.md "Keys"). */
export function endpointFault(endpoint: string): string | undefined {
  if (!addressShape.test(endpoint) || !URL.canParse(endpoint)) return 'must be an http or https address';
  const url = new URL(endpoint);
  if (url.username !== '' || url.password !== '') return 'must not hold a user or password';
  if (url.search !== '' || url.hash !== '') return 'must not have a query or fragment';
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) return 'must be https, or http to a loopback address';
  return undefined;
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
