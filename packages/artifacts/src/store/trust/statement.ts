/** Writes what is stated of an archive or a manifest, and the envelope that is signed (in-toto, DSSE). */

import type { JsonObject } from '@svc/protocol/json-object.ts';

/** What a statement says of some bytes beside their hash. */
export interface Predicate {
  readonly type: string;
  readonly content: unknown;
}

/** What is stated of some bytes. */
export interface Statement {
  /** The name of the file or the repository, for people. */
  readonly name: string;
  readonly sha256: string;
  readonly predicate: Predicate;
}

/** That its signer vouches for it, and no more. */
export const vouched: Predicate = { type: 'https://sigstore.dev/cosign/sign/v1', content: {} };

const payloadType = 'application/vnd.in-toto+json';

export function encodeStatement({ name, sha256, predicate }: Statement): Buffer {
  return Buffer.from(
    JSON.stringify({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name, digest: { sha256 } }],
      predicateType: predicate.type,
      predicate: predicate.content,
    }),
  );
}

/** What is signed of an envelope: its type and its payload, each behind its length. */
export function preAuthentication(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `), payload]);
}

export function envelopeOf(payload: Buffer, signature: Buffer): JsonObject {
  return { payload: payload.toString('base64'), payloadType, signatures: [{ sig: signature.toString('base64') }] };
}
