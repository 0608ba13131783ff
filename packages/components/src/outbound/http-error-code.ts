import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';

/** The part of `wasi:http/types#error-code` that this host gives. */
export type HttpErrorCode =
  | {
      readonly tag:
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
    }
  | { readonly tag: 'DNS-error'; readonly val: { readonly rcode: string | undefined; readonly infoCode: undefined } }
  | { readonly tag: 'HTTP-request-body-size'; readonly val: bigint | undefined }
  | { readonly tag: 'HTTP-request-header-section-size'; readonly val: number | undefined }
  | { readonly tag: 'HTTP-response-header-section-size'; readonly val: number | undefined }
  | { readonly tag: 'HTTP-response-content-coding'; readonly val: string | undefined }
  | { readonly tag: 'internal-error'; readonly val: string | undefined };

const byCode: Readonly<Record<string, HttpErrorCode>> = {
  ECONNREFUSED: { tag: 'connection-refused' },
  ECONNRESET: { tag: 'connection-terminated' },
  EPROTO: { tag: 'TLS-protocol-error' },
  EPIPE: { tag: 'connection-terminated' },
  ETIMEDOUT: { tag: 'connection-timeout' },
  EHOSTUNREACH: { tag: 'destination-unavailable' },
  ENETUNREACH: { tag: 'destination-unavailable' },
  EADDRNOTAVAIL: { tag: 'destination-unavailable' },
  HPE_HEADER_OVERFLOW: { tag: 'HTTP-response-header-section-size', val: undefined },
};

/** Ends a connection before it is made, for a reason that is in the guest's terms already. */
export class ConnectionRefusal extends Error {
  readonly errorCode: HttpErrorCode;

  constructor(errorCode: HttpErrorCode) {
    super(errorCode.tag);
    this.name = 'ConnectionRefusal';
    this.errorCode = errorCode;
  }
}

/** What went wrong with a connection, as Node or a refusal tells it, in the guest's terms. */
export function httpErrorCode(error: Error): HttpErrorCode {
  if (error instanceof ConnectionRefusal) return error.errorCode;
  const code = errorCode(error) ?? '';
  const known = byCode[code];
  if (known !== undefined) return known;
  if (code.startsWith('HPE_')) return { tag: 'HTTP-protocol-error' };
  if (isCertificateCode(code)) return { tag: 'TLS-certificate-error' };
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')) return { tag: 'TLS-protocol-error' };
  return { tag: 'internal-error', val: error.message };
}

function isCertificateCode(code: string): boolean {
  return code.includes('CERT') || code.includes('ISSUER') || code === 'ERR_TLS_CERT_ALTNAME_INVALID';
}
