/** Puts errors of connections into words: the one table for all programs, except components, whose requests fail in the words of `guest/request-failure.ts`. */

import { isCoded, isSystemError, systemReason } from '../diagnostics/system-reason.ts';

const reasons = {
  refused: 'nothing listens there',
  'unknown-host': systemReason({ code: 'ENOTFOUND' }),
  'no-lookup': 'its name cannot be looked up now',
  'slow-lookup': 'its name could not be looked up in time',
  'prohibited-address': 'its name resolves to an address that the grant does not name',
  unreachable: 'there is no route to it',
  forbidden: 'this machine does not let a connection to it be made',
  silent: 'it does not answer',
  cut: 'the connection was closed before everything had gone over it',
  'no-tls': 'it does not speak TLS at this address',
  tls: 'no TLS connection to it can be made',
  certificate: 'its certificate cannot be verified',
  'no-http': 'what it answers is not HTTP',
};

/** What keeps a connection from being made, or an answer from coming over it. */
export type NetworkFault = keyof typeof reasons;

/** These faults stand for several error codes, so the message adds the code. */
const coded: ReadonlySet<NetworkFault> = new Set(['tls', 'certificate', 'no-http'] as const);

const byCode: Readonly<Record<string, NetworkFault>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'unknown-host',
  ENODATA: 'unknown-host',
  ETIMEOUT: 'slow-lookup',
  ERR_ADDRESS_PROHIBITED: 'prohibited-address',
  EADDRNOTAVAIL: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  // When a firewall refuses IPv4 and IPv6 together, Node's error names no system call.
  EACCES: 'forbidden',
  EPERM: 'forbidden',
  ETIMEDOUT: 'silent',
  ECONNRESET: 'cut',
  EPIPE: 'cut',
  ERR_STREAM_PREMATURE_CLOSE: 'cut',
  EPROTO: 'no-tls',
  ERR_SSL_WRONG_VERSION_NUMBER: 'no-tls',
};

/** The first that fits decides. */
const byShape: readonly (readonly [RegExp, NetworkFault])[] = [
  [
    /^(CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_)/,
    'certificate',
  ],
  [/^ERR_(SSL|TLS)_/, 'tls'],
  [/^EAI_/, 'no-lookup'],
  [/^HPE_/, 'no-http'],
];

/** What an error code of Node, of the system or of a resolver means for a connection; undefined for a code that does not come from the network. */
export function networkFault(code: string): NetworkFault | undefined {
  return byCode[code] ?? byShape.find(([shape]) => shape.test(code))?.[1];
}

/** Whether an error is one of the network or the system, and no bug. */
export function isNetworkError(error: unknown): error is Error & { readonly code: string } {
  return isSystemError(error) || (isCoded(error) && networkFault(error.code) !== undefined);
}

/** Why nothing came of a connection, as a clause about the other side for a person: `nothing listens there`. Words any other code as the system's. */
export function networkReason({ code }: { readonly code: string }): string {
  const fault = networkFault(code);
  if (fault === undefined) return systemReason({ code });
  return coded.has(fault) ? `${reasons[fault]} (${code})` : reasons[fault];
}
