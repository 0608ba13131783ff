import { isIPv6 } from 'node:net';

import type { BindAddress } from '@svc/kit/http/server.ts';

export const defaultPort = 7800;

const shape = /^(?:\[([^[\]]+)\]|([^[\]:]+))(?::(\d{1,5}))?$/;

/** `<address>`, `<address>:<port>`, `[<IPv6 address>]` or `[<IPv6 address>]:<port>`; null for anything else. */
export function parseBindAddress(text: string): BindAddress | null {
  const [, bracketed, plain, digits] = shape.exec(text) ?? [];
  const port = digits === undefined ? defaultPort : Number(digits);
  if (port > 65_535) return null;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { address: bracketed, port } : null;
  return plain === undefined || /\s/.test(plain) ? null : { address: plain, port };
}

/** As a URL has it. */
export function renderAddress({ address, port }: BindAddress): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}
