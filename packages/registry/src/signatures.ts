/** Takes and gives the signatures of archives. It verifies nothing: clients do. */

import { jsonReply, type Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest, RequestHead } from '@svc/kit/http/route.ts';
import { encodeSignatures, outlineBundle } from '@svc/artifacts/store/trust/signature-bundle.ts';
import { decodeSignaturesPath, signaturesPath } from '@svc/protocol/registry-messages.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { badInput, signaturesNotFound } from './refusals.ts';
import type { SignatureStore } from './signature-store.ts';

export const signaturesPrefix = `${signaturesPath}/`;

/** `GET /v1/signatures/{sha256}`: the bundles for an archive, one a line; `404` without any. */
export async function readSignatures({ path, query }: RequestHead, store: SignatureStore): Promise<Reply> {
  const bundles = await store.read(hashIn(path, query));
  if (bundles.length === 0) throw signaturesNotFound();
  const bytes = Buffer.from(encodeSignatures(bundles));
  return { kind: 'bytes', status: 200, headers: {}, contentType: 'application/jsonl', bytes };
}

/**
 * `POST /v1/signatures/{sha256}`: keeps one bundle, `201` once it is durable and `200` when it was there already. The archive may follow. `400` for what is
 * no bundle, or one for another archive.
 */
export async function addSignature({ path, query, body }: HttpRequest, store: SignatureStore): Promise<Reply> {
  const sha256 = hashIn(path, query);
  const text = decodeStrictUtf8(body);
  const outline = text === null ? null : outlineBundle(text);
  if (text === null || outline?.kind !== 'bundle') {
    const reason = outline?.kind === 'unreadable' ? outline.reason : 'it is not UTF-8 text';
    throw badInput('invalid signature', `The body is one sigstore bundle as JSON: ${reason}.`);
  }
  if (!outline.isOf(sha256)) throw badInput('the signature is of another archive', `It does not name ${sha256}.`);
  // As one line, which is how it is given out.
  const outcome = await store.put(sha256, JSON.stringify(outline.json));
  return jsonReply({ sha256 }, outcome === 'stored' ? 201 : 200);
}

function hashIn(path: string, query: string): string {
  const sha256 = query === '' ? decodeSignaturesPath(path) : null;
  if (sha256 === null) throw signaturesNotFound();
  return sha256;
}
