/**
 * The address of `path` (`/v1/…`) at `inference.endpoint`. An endpoint that already ends in `/v1` or in the whole path, as providers print it,
 * means the same as one without.
 */
export function providerUrl(endpoint: string, path: `/v1/${string}`): string {
  if (endpoint === '') throw new Error('inference.endpoint is not set');
  const bare = endpoint.replace(/\/+$/, '');
  const ending = [path, '/v1'].find((each) => bare.endsWith(each)) ?? '';
  return `${bare.slice(0, bare.length - ending.length)}${path}`;
}
