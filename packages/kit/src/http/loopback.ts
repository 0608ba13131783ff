/** Which hosts and addresses mean this machine alone. */

const octet = '(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)';
const loopbackHost = new RegExp(
  `^(?:(?:[a-z0-9_-]+\\.)*localhost|127(?:\\.${octet}){3}|\\[::1\\])(?::\\d{0,5})?$`,
  'i',
);

/** Whether a `Host` header names this machine's loopback: `localhost`, a name under it, 127.0.0.0/8 or `[::1]`, with any port. */
export function isLoopbackHost(host: string): boolean {
  return loopbackHost.test(host);
}

/** Whether an address a socket is bound to is reachable from this machine alone. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./i.test(address);
}
