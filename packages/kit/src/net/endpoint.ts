/** Says which addresses may be configured: `https` to any host, `http` to this machine alone. */

// No character that reading as a URL would drop or turn into a slash.
const addressShape = /^https?:\/\/[^/\s\\\p{Cc}][^\s\\\p{Cc}]*$/iu;

/**
 * Why `inference.endpoint` is refused, as a clause; undefined when it is allowed: `https` to any host, `http` to loopback (docs/manifest.md "Keys"). With
 * `insecureHttp`, also `http` to a private address.
 */
export function endpointFault(endpoint: string, insecureHttp: boolean = false): string | undefined {
  if (!addressShape.test(endpoint) || !URL.canParse(endpoint)) return 'must be an http or https address';
  const url = new URL(endpoint);
  if (url.username !== '' || url.password !== '') return 'must not hold a user or password';
  if (url.search !== '' || url.hash !== '') return 'must not have a query or fragment';
  if (url.protocol !== 'http:' || isLoopback(url.hostname)) return undefined;
  if (insecureHttp)
    return isPrivate(url.hostname) ? undefined : 'must be https, or http to a private address in digits';
  return 'must be https, or http to a loopback address';
}

/** Whether requests to an address that is allowed can be read on their way. */
export function isInsecure(endpoint: string): boolean {
  const { protocol, hostname } = new URL(endpoint);
  return protocol === 'http:' && !isLoopback(hostname);
}

// A name could lead anywhere, so only digits count. `address-class.ts` says the same, and is not loaded at each start.
const privateAddress =
  /^(?:(?:10|172\.(?:1[6-9]|2\d|3[01])|192\.168|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))(?:\.\d{1,3}){2,3}|\[f[cd][0-9a-f]{2}:[0-9a-f:]+\])$/;
const metadataAddress = /^(?:100\.100\.100\.200|\[(?:fd00:ec2::254|fd20:ce::254|fd00:42::42)\])$/;

function isPrivate(hostname: string): boolean {
  return privateAddress.test(hostname) && !metadataAddress.test(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
