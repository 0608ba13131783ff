/**
 * The address of `path` (`/v1/…`) at `inference.endpoint`. An endpoint that already ends in `/v1`, as many providers print it,
 * means the same as one without.
 */
export function providerUrl(endpoint: string, path: `/v1/${string}`): string {
  if (endpoint === '') throw new Error('inference.endpoint is not set');
  return `${endpoint.replace(/\/+$/, '').replace(/\/v1$/, '')}${path}`;
}
