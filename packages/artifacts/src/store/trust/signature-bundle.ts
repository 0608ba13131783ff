/** Reads the outside of a signature: what kind it is, and which bytes it speaks of. Nothing is verified here. */

import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { asJsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { signatureLimits } from '@svc/protocol/registry-messages.ts';

/** The Sigstore bundles that are understood; what a message signature signs is the archive itself, a statement names its hash. */
const mediaTypes: ReadonlySet<unknown> = new Set([
  'application/vnd.dev.sigstore.bundle+json;version=0.1',
  'application/vnd.dev.sigstore.bundle+json;version=0.2',
  'application/vnd.dev.sigstore.bundle+json;version=0.3',
  'application/vnd.dev.sigstore.bundle.v0.3+json',
]);

const statementTypes: ReadonlySet<unknown> = new Set([
  'https://in-toto.io/Statement/v1',
  'https://in-toto.io/Statement/v0.1',
]);

/** Statements that say that their signer made the archive. One of another kind may say that it is malware. */
const predicateTypes: ReadonlySet<unknown> = new Set([
  'https://slsa.dev/provenance/v1',
  'https://slsa.dev/provenance/v0.2',
  'https://sigstore.dev/cosign/sign/v1',
]);

const statementPayload = 'application/vnd.in-toto+json';

/** What a bundle says of itself. */
export type BundleOutline =
  | {
      readonly kind: 'bundle';
      readonly json: Readonly<Record<string, unknown>>;
      readonly signs: 'archive' | 'statement';
      /** Whether it names an archive with this hash. */
      readonly isOf: (sha256: string) => boolean;
    }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'unreadable'; readonly reason: string };

/** Looks at one bundle, of any text. */
export function outlineBundle(text: string): BundleOutline {
  if (Buffer.byteLength(text) > signatureLimits.maxBundleBytes) return unreadable('it is larger than 64 KiB');
  const json = parseJsonObject(text);
  if (json === null) return unreadable('it is not a JSON object');
  if (!mediaTypes.has(json['mediaType'])) return unreadable('it is no sigstore bundle of version 0.1 to 0.3');
  if (asJsonObject(json['verificationMaterial']) === null) return unreadable('it has no verificationMaterial');
  const message = asJsonObject(json['messageSignature']);
  const envelope = asJsonObject(json['dsseEnvelope']);
  if ((message === null) === (envelope === null)) return unreadable('it must have one signature');
  return message === null ? outlineStatement(json, envelope ?? {}) : outlineMessage(json, message);
}

function outlineMessage(
  json: Readonly<Record<string, unknown>>,
  message: Readonly<Record<string, unknown>>,
): BundleOutline {
  const { algorithm, digest } = asJsonObject(message['messageDigest']) ?? {};
  if (algorithm !== 'SHA2_256' || typeof digest !== 'string') return unreadable('it names no SHA-256 of the archive');
  const named = Buffer.from(digest, 'base64').toString('hex');
  return { kind: 'bundle', json, signs: 'archive', isOf: (sha256) => named === sha256 };
}

function outlineStatement(
  json: Readonly<Record<string, unknown>>,
  envelope: Readonly<Record<string, unknown>>,
): BundleOutline {
  const { payload, payloadType } = envelope;
  if (payloadType !== statementPayload || typeof payload !== 'string')
    return unreadable('it signs no in-toto statement');
  const bytes = decodeStrictUtf8(Buffer.from(payload, 'base64'));
  const statement = bytes === null ? null : parseJsonObject(bytes);
  if (!statementTypes.has(statement?.['_type'])) return unreadable('it signs no in-toto statement');
  if (!predicateTypes.has(statement?.['predicateType'])) return unreadable('its statement is no provenance');
  const subjects = statement?.['subject'];
  if (!Array.isArray(subjects)) return unreadable('its statement names no subject');
  const named = new Set(
    (subjects as unknown[]).map((each) => asJsonObject(asJsonObject(each)?.['digest'])?.['sha256']),
  );
  return { kind: 'bundle', json, signs: 'statement', isOf: (sha256) => named.has(sha256) };
}

/** Whether a bundle says itself that it signs another archive, such as the one that was there before. */
export function isOfOtherBytes(bundle: string, sha256: string): boolean {
  const outline = outlineBundle(bundle);
  return outline.kind === 'bundle' && !outline.isOf(sha256);
}

function unreadable(reason: string): BundleOutline {
  return { kind: 'unreadable', reason };
}

/** What ends the name of the file of signatures beside an archive: a bundle a line. */
export const signaturesSuffix = '.sigstore.jsonl';

/** The bundles in such a file's text, at most 16; what follows them is not looked at. */
export function decodeSignatures(text: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, signatureLimits.mostBundles);
}

/** Each once, in their order; `most` wins over those that come later. */
export function encodeSignatures(bundles: readonly string[]): string {
  const lines = new Set(bundles.map((bundle) => bundle.replaceAll(/[\r\n]+/g, ' ').trim()));
  return [...lines]
    .slice(0, signatureLimits.mostBundles)
    .map((line) => `${line}\n`)
    .join('');
}

/** The bundles as a file of them gives them back: each once, and the first 16 at most. */
export function boundedSignatures(bundles: readonly string[]): readonly string[] {
  return decodeSignatures(encodeSignatures(bundles));
}

const largestFile = signatureLimits.mostBundles * (signatureLimits.maxBundleBytes + 1);

/**
 * The signatures beside the archive at a path; empty where there is no such file. One that is too large, or no text, is a single signature that
 * cannot be read. `E-IO-001` when the system refuses.
 */
export function signaturesBeside(archive: string): readonly string[] {
  const path = `${archive}${signaturesSuffix}`;
  try {
    const bytes = readFileUpTo(path, largestFile);
    const text = bytes === undefined ? null : decodeStrictUtf8(bytes);
    return text === null ? ['?'] : decodeSignatures(text);
  } catch (error) {
    if (isSystemError(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return [];
    throw ioFault(error, `cannot read ${path}`);
  }
}
