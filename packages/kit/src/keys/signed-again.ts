/** Signs requests of those who have a placeholder for a key of Amazon or others like it (docs/boundary.md "Signatures of AWS"). */

import { sha256Hex, sha256Shape } from '../sha256.ts';
import type { AskedRequest, HeaderLine, RequestSigner } from './bound-host.ts';
import { ambiguity, namesObjects, signatureOf, type SigningKey } from './sigv4.ts';

/** What of a key is beside its value. */
export interface SigningTerms extends Pick<SigningKey, 'region' | 'service' | 'sessionToken'> {
  readonly now: () => number;
}

type Scope = Pick<SigningKey, 'region' | 'service'>;

const signature = /^AWS4-HMAC-SHA256 +Credential=([^/,\s]+)\/\d{8}\/([^/,\s]+)\/([^/,\s]+)\/aws4_request,/;

/** Why a request that shows the placeholder is not signed again, as a clause about it; null where it is, or does not show it. */
export function faultOfSignature(
  { target, headers }: AskedRequest,
  placeholder: string,
  { region, service }: Scope,
): string | null {
  const [, query = ''] = /\?(.*)$/s.exec(target) ?? [];
  if (query.includes(placeholder) && /(?:^|&)x-amz-signature=/i.test(query))
    return 'is signed in its address (a presigned URL), and svc signs in the header alone';
  for (const [name, value] of headers) {
    if (name.toLowerCase() !== 'authorization' || !value.includes(placeholder)) continue;
    const [, key, itsRegion, itsService] = signature.exec(value) ?? [];
    if (key !== placeholder) return 'has a signature of another form than AWS4-HMAC-SHA256';
    if (itsRegion !== region || itsService !== service)
      return `is signed for another region or service than ${region} and ${service}`;
  }
  return null;
}

/** Whether this is the value of `authorization` in a request that is signed with the placeholder. */
export function isSignedWith(value: string, placeholder: string): boolean {
  return signature.exec(value)?.[1] === placeholder;
}

/** The request without what is signed anew. Its `authorization` is gone already. */
export function unsigned(headers: readonly HeaderLine[]): readonly HeaderLine[] {
  return headers.filter(([name]) => name.toLowerCase() !== 'x-amz-date');
}

const [unsignedPayload, unsignedPieces] = ['UNSIGNED-PAYLOAD', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'];

/** What says the hash of the body, or stands in its place: null where nothing does, a clause about the request where `svc` cannot sign that. */
function declaredPayload(
  { headers }: AskedRequest,
  { service }: Scope,
): { readonly payload: string | null } | { readonly fault: string } {
  const [value, ...others] = headers
    .filter(([name]) => name.toLowerCase() === 'x-amz-content-sha256')
    .map(([, each]) => each);
  if (value === undefined) return { payload: namesObjects(service) ? unsignedPayload : null };
  const isFree = value === unsignedPayload || (value === unsignedPieces && namesObjects(service));
  if (others.length === 0 && (isFree || sha256Shape.test(value))) return { payload: value };
  return {
    fault: value.startsWith('STREAMING-')
      ? `signs each piece of its body, and svc signs the head alone: have the client send ${unsignedPayload}, or the hash of the body`
      : 'has an x-amz-content-sha256 that is no hash',
  };
}

/** Signs a request with the key, or says as a clause about it why that cannot be done. */
export function signerFor(
  asked: AskedRequest,
  { now, ...key }: SigningKey & Pick<SigningTerms, 'now'>,
): RequestSigner | { readonly fault: string } {
  const declared = declaredPayload(asked, key);
  const fault = 'fault' in declared ? declared.fault : ambiguity(key.service, asked.target);
  if ('fault' in declared || fault !== null) return { fault: fault ?? '' };
  const { payload } = declared;
  return {
    needsBody: payload === null,
    sign: async (sent, body) => ({
      lines: signatureOf(key, sent, { payload: payload ?? sha256Hex(body), nowMs: now() }),
    }),
  };
}
