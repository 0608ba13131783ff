/** Reads how long a server that was asked too often wants to be left alone (RFC 9110 "Retry-After"). */

/**
 * In milliseconds. A date is compared with the one that the same server wrote, so that nobody asks a clock. Returns null where the server does not say.
 */
export function retryAfterMs(headers: {
  readonly 'retry-after'?: string | undefined;
  readonly date?: string | undefined;
}): number | null {
  const { 'retry-after': after = '', date = '' } = headers;
  const waitMs = /^\d{1,9}$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.parse(date);
  return waitMs >= 0 ? waitMs : null;
}
