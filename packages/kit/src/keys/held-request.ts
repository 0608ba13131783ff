/** Makes of a request whose body is there what a person is shown of it. */

import { isUtf8 } from 'node:buffer';

import { sha256Hex } from '../sha256.ts';
import type { AskedRequest, HeldRequest } from './bound-host.ts';
import { isCredentialHeader } from './foreign-credential.ts';

/** The most bytes of a body that is held, until a person has answered or its hash is signed. */
export const maxHeldBytes: number = 1024 * 1024;
/** A longer body is known by its size and hash alone: a cut could show the beginning of a secret that is not found any more. */
const maxShownBytes = 64 * 1024;
// oxlint-disable-next-line no-control-regex
const noText = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** What differs each time a request is made again, and what says where it goes and how it is framed. */
const leftOut: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'expect',
  'user-agent',
  'accept-encoding',
  'date',
  'x-amz-date',
  'amz-sdk-invocation-id',
  'amz-sdk-request',
  'traceparent',
  'tracestate',
]);

/** What says whose key a signature of AWS is made with; the rest of it differs each time. */
const signedBy = /^AWS4-HMAC-SHA256 +Credential=[^/,\s]+/;

/** `asked` has the headers that go out, before a key is put in. */
export function heldRequest(
  { origin, method, target, headers }: AskedRequest & Pick<HeldRequest, 'origin'>,
  body: Uint8Array,
): HeldRequest {
  const shown = headers.map(([name, value]) => [name.toLowerCase(), value] as const);
  const keys = shown.flatMap(([name, value]) =>
    isCredentialHeader(name) ? [[name, signedBy.exec(value)?.[0] ?? value]] : [],
  );
  return {
    origin,
    method,
    target,
    headers: shown.flatMap(([name, value]) =>
      leftOut.has(name) || isCredentialHeader(name) ? [] : [`${name}: ${value}`],
    ),
    ...(keys.length === 0 ? {} : { keys: sha256Hex(JSON.stringify(keys)) }),
    body: { bytes: body.length, sha256: sha256Hex(body), text: textOf(body) },
  };
}

function textOf(body: Uint8Array): string | null {
  if (body.length > maxShownBytes || !isUtf8(body)) return null;
  const text = Buffer.from(body).toString();
  return noText.test(text) ? null : text;
}
