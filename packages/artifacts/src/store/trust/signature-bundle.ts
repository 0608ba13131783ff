/** Reads the outside of a signature: what kind it is, and which bytes it speaks of. Nothing is verified here. */

import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { asJsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { signatureLimits } from '@svc/protocol/registry-messages.ts';
import { archiveNamedBy } from '../sources/oci/archive-manifest.ts';

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
      /** What is signed in place of the archive: the manifest of an OCI registry that names it; null for the archive. */
      readonly manifest: Buffer | null;
      /** Whether it names an archive with this hash. */
      readonly isOf: (sha256: string) => boolean;
    }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'unreadable'; readonly reason: string };

/** Looks at one bundle, of any text. */
export function outlineBundle(text: string): BundleOutline {
  if (Buffer.byteLength(text) > signatureLimits.maxBundleBytes) return unreadable('it is larger than 64 KiB');
  const whole = parseJsonObject(text);
  if (whole === null) return unreadable('it is not a JSON object');
  const { [manifestKey]: manifest, ...json } = whole;
  if (!mediaTypes.has(json['mediaType'])) return unreadable('it is no sigstore bundle of version 0.1 to 0.3');
  if (asJsonObject(json['verificationMaterial']) === null) return unreadable('it has no verificationMaterial');
  const message = asJsonObject(json['messageSignature']);
  const envelope = asJsonObject(json['dsseEnvelope']);
  if ((message === null) === (envelope === null)) return unreadable('it must have one signature');
  const outline = message === null ? outlineStatement(json, envelope ?? {}) : outlineMessage(json, message);
  return manifest === undefined || outline.kind === 'unreadable' ? outline : throughManifest(outline, manifest);
}

/** Beside the parts of a bundle, in base64. */
const manifestKey = 'ociManifest';

/** A bundle of a manifest with that manifest, so that it can be verified wherever the archive lies; null for a bundle of anything else. */
export function withManifest(bundle: string, manifest: Uint8Array): string | null {
  const outline = outlineBundle(bundle);
  if (outline.kind === 'unreadable' || !outline.isOf(sha256Hex(manifest))) return null;
  return JSON.stringify({ ...outline.json, [manifestKey]: Buffer.from(manifest).toString('base64') });
}

/** A bundle as other tools know it. */
export function bareBundle(bundle: string): string {
  const { [manifestKey]: manifest, ...json } = parseJsonObject(bundle) ?? {};
  return manifest === undefined ? bundle : JSON.stringify(json);
}

function throughManifest(outline: BundleOutline & { readonly kind: 'bundle' }, written: unknown): BundleOutline {
  const manifest = Buffer.from(typeof written === 'string' ? written : '', 'base64');
  const archive = archiveNamedBy(manifest);
  if (archive === null) return unreadable('it is of a manifest that names no archive');
  const isSigned = outline.isOf(sha256Hex(manifest));
  return { ...outline, manifest, isOf: (sha256) => isSigned && sha256 === archive };
}

function outlineMessage(
  json: Readonly<Record<string, unknown>>,
  message: Readonly<Record<string, unknown>>,
): BundleOutline {
  const { algorithm, digest } = asJsonObject(message['messageDigest']) ?? {};
  if (algorithm !== 'SHA2_256' || typeof digest !== 'string') return unreadable('it names no SHA-256 of the archive');
  const named = Buffer.from(digest, 'base64').toString('hex');
  return { kind: 'bundle', json, signs: 'archive', manifest: null, isOf: (sha256) => named === sha256 };
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
  return { kind: 'bundle', json, signs: 'statement', manifest: null, isOf: (sha256) => named.has(sha256) };
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
    .slice(0, signatureLimits.maxBundles);
}

/** Each once, in their order; `most` wins over those that come later. */
export function encodeSignatures(bundles: readonly string[]): string {
  const lines = new Set(bundles.map((bundle) => bundle.replaceAll(/[\r\n]+/g, ' ').trim()));
  return [...lines]
    .slice(0, signatureLimits.maxBundles)
    .map((line) => `${line}\n`)
    .join('');
}

/** The bundles as a file of them gives them back: each once, and the first 16 at most. */
export function boundedSignatures(bundles: readonly string[]): readonly string[] {
  return decodeSignatures(encodeSignatures(bundles));
}

const largestFile = signatureLimits.maxBundles * (signatureLimits.maxBundleBytes + 1);

/** What other tools call the file of one bundle beside an archive. */
const oneSignatureSuffix = '.sigstore.json';

/**
 * The signatures beside the archive at a path, in a file of bundles and in one of a single bundle. A file that is too large, or no text, counts as one
 * signature that cannot be read. `E-IO-001` when the system refuses.
 */
export function signaturesBeside(archive: string): readonly string[] {
  const listed = textBeside(`${archive}${signaturesSuffix}`, largestFile);
  const single = textBeside(`${archive}${oneSignatureSuffix}`, signatureLimits.maxBundleBytes);
  return boundedSignatures([
    ...(listed === null ? [] : decodeSignatures(listed)),
    ...(single === null ? [] : [single]),
  ]);
}

function textBeside(path: string, maxBytes: number): string | null {
  try {
    const bytes = readFileUpTo(path, maxBytes);
    return (bytes === undefined ? null : decodeStrictUtf8(bytes)) ?? '?';
  } catch (error) {
    if (isSystemError(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null;
    throw ioFault(error, `cannot read ${path}`);
  }
}
