/** Turns what went wrong with a connection into the errors that `wasi:http` knows. */

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { type NetworkFault, networkFault } from '@svc/kit/net/network-reason.ts';
import { NoAddress } from '@svc/kit/net/resolver.ts';

type PlainTag =
  | 'DNS-timeout'
  | 'destination-not-found'
  | 'destination-unavailable'
  | 'destination-IP-prohibited'
  | 'connection-refused'
  | 'connection-terminated'
  | 'connection-timeout'
  | 'connection-read-timeout'
  | 'connection-write-timeout'
  | 'connection-limit-reached'
  | 'TLS-protocol-error'
  | 'TLS-certificate-error'
  | 'HTTP-request-denied'
  | 'HTTP-request-method-invalid'
  | 'HTTP-request-URI-invalid'
  | 'HTTP-request-URI-too-long'
  | 'HTTP-response-incomplete'
  | 'HTTP-response-timeout'
  | 'HTTP-upgrade-failed'
  | 'HTTP-protocol-error';

/** The part of `wasi:http/types#error-code` that this host gives. */
export type HttpErrorCode =
  | { readonly tag: PlainTag }
  | { readonly tag: 'DNS-error'; readonly val: { readonly rcode: string | undefined; readonly infoCode: undefined } }
  | { readonly tag: 'HTTP-request-body-size'; readonly val: bigint | undefined }
  | { readonly tag: 'HTTP-request-header-section-size'; readonly val: number | undefined }
  | { readonly tag: 'HTTP-response-header-section-size'; readonly val: number | undefined }
  | { readonly tag: 'HTTP-response-content-coding'; readonly val: string | undefined }
  | { readonly tag: 'internal-error'; readonly val: string | undefined };

const tags: Readonly<Partial<Record<NetworkFault, PlainTag>>> = {
  refused: 'connection-refused',
  'slow-lookup': 'DNS-timeout',
  'prohibited-address': 'destination-IP-prohibited',
  unreachable: 'destination-unavailable',
  silent: 'connection-timeout',
  cut: 'connection-terminated',
  'no-tls': 'TLS-protocol-error',
  tls: 'TLS-protocol-error',
  certificate: 'TLS-certificate-error',
  'no-http': 'HTTP-protocol-error',
};

/** What went wrong with a connection, in the guest's terms. */
export function httpErrorCode(error: Error): HttpErrorCode {
  const code = errorCode(error) ?? '';
  if (code === 'HPE_HEADER_OVERFLOW') return { tag: 'HTTP-response-header-section-size', val: undefined };
  const fault = networkFault(code);
  if (error instanceof NoAddress && fault !== 'slow-lookup') {
    return { tag: 'DNS-error', val: { rcode: code, infoCode: undefined } };
  }
  const tag = fault === undefined ? undefined : tags[fault];
  return tag === undefined ? { tag: 'internal-error', val: error.message } : { tag };
}
