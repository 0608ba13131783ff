import { ProviderFailure } from './provider-failure.ts';

/** An `error-code` of `wasi:http`. */
export interface HttpErrorCode {
  readonly tag: string;
  readonly val?: unknown;
}

const sentences: ReadonlyMap<string, string> = new Map([
  ['DNS-error', 'the name does not resolve'],
  ['DNS-timeout', 'the name server does not answer'],
  ['HTTP-request-denied', 'the capsule may not connect to it'],
  ['TLS-certificate-error', 'its certificate is not trusted'],
  ['connection-refused', 'connection refused'],
  ['connection-terminated', 'connection closed before a response'],
  ['connection-timeout', 'connection timed out'],
]);

/** What would fail in the same way again. */
const lasting = /^(HTTP-request-|TLS-certificate-error|configuration-error|loop-detected|destination-IP-prohibited)/;

/** Why no response came from `origin`. */
export function connectionFailure(origin: string, code: HttpErrorCode): ProviderFailure {
  const detail = typeof code.val === 'string' && code.val !== '' ? code.val : null;
  const reason = sentences.get(code.tag) ?? detail ?? code.tag.replaceAll('-', ' ');
  return new ProviderFailure(`cannot reach ${origin}: ${reason}`, { transient: !lasting.test(code.tag) });
}
