/** Verifies signatures of an archive, offline: the one file that loads the Sigstore verifier. */

import { createHash, createPublicKey, createVerify, type KeyObject, type Verify } from 'node:crypto';

import { type Bundle, bundleFromJSON } from '@sigstore/bundle';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import {
  type KeyFinderFunc,
  type SignedEntity,
  toSignedEntity,
  toTrustMaterial,
  type TrustMaterial,
  Verifier,
} from '@sigstore/verify';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import type { Chunks } from '@svc/kit/files/replace-file.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { asJsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { signatureLimits } from '@svc/protocol/registry-messages.ts';
import type { TrustedKey } from '../../manifest/trust-policy.ts';
import { type BundleOutline, outlineBundle } from './signature-bundle.ts';
import { isSignerText, type Signer } from './signer.ts';
import type { TrustRoot } from './trust-root.ts';

export interface SignedArchive {
  readonly sha256: string;
  /** The bytes that `sha256` is over; read for signatures of the archive itself. */
  readonly chunks: () => Chunks;
  /** From any sender or store. */
  readonly bundles: readonly string[];
}

/** What became of one bundle. */
export type Verdict =
  | { readonly kind: 'valid'; readonly signer: Signer }
  /** `reason` is a clause for a person. `isUnknownLog`: it may hold by a newer list of logs; `isUnknownKey`: by a key that is not in the policy. */
  | {
      readonly kind: 'refused';
      readonly reason: string;
      readonly isUnknownLog: boolean;
      readonly isUnknownKey: boolean;
    };

/** Signatures of the archive itself take a look at all of its bytes. As many as an archive has signatures: each that takes one look gets it. */
const maxReadings: number = signatureLimits.maxBundles;
const maxReason = 200;

/** What bundles are held to: authorities, logs, and the keys of the policy. */
export class BundleVerifier {
  readonly #root: ParsedRoot;
  readonly #keys: readonly TrustedKey[];
  #readings = 0;

  /** `E-REG-013` for an invalid root. */
  constructor(root: TrustRoot, keys: readonly TrustedKey[]) {
    this.#root = parseRoot(root);
    // Once each, whatever names it has: a signature that names its key takes one look.
    this.#keys = [...new Map(keys.map((key) => [key.fingerprint, key])).values()];
  }

  /**
   * The verdicts on all bundles of an archive, up to and with the first that is valid and `isEnough`. Those that take a look for each key come last: anybody
   * may have brought them, and the others are not to go short for it.
   */
  async verify(archive: SignedArchive, isEnough: (signer: Signer) => boolean): Promise<readonly Verdict[]> {
    const verdicts: Verdict[] = [];
    this.#readings = 0;
    const outlines = archive.bundles.map(outlineBundle);
    const last = outlines.filter((outline) => this.#triesKeys(outline));
    const first = outlines.filter((outline) => !last.includes(outline));
    for (const outline of [...first, ...last]) {
      const verdict = await this.#verdictOn(outline, archive);
      verdicts.push(verdict);
      if (verdict.kind === 'valid' && isEnough(verdict.signer)) break;
    }
    return verdicts;
  }

  /** Whether a bundle signs the archive itself by a key that it does not name. */
  #triesKeys(outline: BundleOutline): boolean {
    if (outline.kind === 'unreadable' || outline.signs === 'statement') return false;
    const { publicKey } = asJsonObject(outline.json['verificationMaterial']) ?? {};
    const { hint } = asJsonObject(publicKey) ?? {};
    return publicKey !== undefined && this.#named(typeof hint === 'string' ? hint : '') === null;
  }

  async #verdictOn(outline: BundleOutline, archive: SignedArchive): Promise<Verdict> {
    if (outline.kind === 'unreadable') return refused(outline.reason);
    if (!outline.isOf(archive.sha256)) return refused('it is a signature of other bytes');
    let isUnknownLog = false;
    try {
      const bundle = bundleFromJSON(outline.json);
      isUnknownLog = bundle.verificationMaterial.tlogEntries.some(
        ({ logId }) => logId !== undefined && !this.#root.logs.has(Buffer.from(logId.keyId).toString('base64')),
      );
      return await this.#verified(bundle, outline, archive);
    } catch (error) {
      if (error instanceof Diagnostic) throw error;
      // A hostile bundle can make the library throw anything; any throw means "not verified".
      return refused(reasonOf(error), { isUnknownLog });
    }
  }

  async #verified(
    bundle: Bundle,
    outline: BundleOutline & { readonly kind: 'bundle' },
    archive: SignedArchive,
  ): Promise<Verdict> {
    if (bundle.verificationMaterial.content.$case !== 'publicKey') {
      const entity = await this.#entity(bundle, outline, archive);
      const noKeys: KeyFinderFunc = () => {
        throw new Error('it has no certificate');
      };
      // A certificate is compared with the time of the signature: without one it would be compared with none.
      const thresholds = { tlogThreshold: 1, ctlogThreshold: 1, timestampThreshold: 1 };
      const verifier = new Verifier({ ...this.#root.material, publicKey: noKeys }, thresholds);
      // Without a policy: the library takes an identity for a regular expression that may match anywhere in it.
      return certified(verifier.verify(entity).identity);
    }
    const { hint } = bundle.verificationMaterial.content.publicKey;
    const named = this.#named(hint);
    for (const key of named ?? this.#keys) {
      const entity = await this.#entity(bundle, outline, archive);
      const publicKey = createPublicKey({ key: key.spki, format: 'der', type: 'spki' });
      const found: KeyFinderFunc = () => ({ publicKey, validFor: () => true });
      const thresholds = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 };
      const verifier = new Verifier({ ...this.#root.material, publicKey: found }, thresholds);
      if (holds(() => verifier.verify(entity)))
        return { kind: 'valid', signer: { kind: 'key', fingerprint: key.fingerprint } };
    }
    if (named !== null) return refused('it names a key of trust.keys, and that key has not made it');
    return refused('it is by no key of trust.keys', { isUnknownKey: true });
  }

  /** The key of the policy that a hint names; null where it names none of them: other tools name none, or in ways of their own. */
  #named(hint: string): readonly TrustedKey[] | null {
    const named = this.#keys.filter(({ fingerprint }) => {
      return hint === fingerprint || hint === Buffer.from(fingerprint, 'hex').toString('base64');
    });
    return named.length > 0 ? named : null;
  }

  async #entity(
    bundle: Bundle,
    { signs, manifest }: BundleOutline & { readonly kind: 'bundle' },
    archive: SignedArchive,
  ): Promise<SignedEntity> {
    const entity = toSignedEntity(bundle);
    if (signs === 'statement') return entity;
    this.#readings += 1;
    if (this.#readings > maxReadings) throw new Error('there are too many signatures and keys to try');
    const { sha256, chunks } =
      manifest === null ? archive : { sha256: sha256Hex(manifest), chunks: (): Chunks => [manifest] };
    const signed = new SignatureOfArchive(entity.signature.signature, sha256, await digested({ sha256, chunks }));
    return { ...entity, signature: signed };
  }
}

/** The library takes the bytes of an archive as a whole; this takes them as they are read. */
class SignatureOfArchive {
  readonly signature: Buffer;
  readonly #sha256: Buffer;
  readonly #verify: Verify;

  constructor(signature: Buffer, sha256: string, verify: Verify) {
    this.signature = signature;
    this.#sha256 = Buffer.from(sha256, 'hex');
    this.#verify = verify;
  }

  compareSignature(signature: Buffer): boolean {
    return this.signature.equals(signature);
  }

  compareDigest(digest: Buffer): boolean {
    return this.#sha256.equals(digest);
  }

  /** Once. */
  verifySignature(key: KeyObject): boolean {
    return this.#verify.verify(key, this.signature);
  }
}

async function digested({ chunks, sha256 }: Pick<SignedArchive, 'chunks' | 'sha256'>): Promise<Verify> {
  const verify = createVerify('sha256');
  const hash = createHash('sha256');
  for await (const chunk of chunks()) {
    verify.update(chunk);
    hash.update(chunk);
  }
  if (hash.digest('hex') !== sha256) throw new Error('the archive has changed while it was verified');
  return verify;
}

type CertifiedIdentity = ReturnType<Verifier['verify']>['identity'];

function certified(identity: CertifiedIdentity): Verdict {
  const { subjectAlternativeName: name, extensions } = identity ?? {};
  const issuer = extensions?.issuer;
  if (!isSignerText(name) || !isWritten(name, identity, subjectExtensions)) return namesNobody;
  if (!isSignerText(issuer) || !isWritten(issuer, identity, issuerExtensions)) return namesNobody;
  return { kind: 'valid', signer: { kind: 'identity', issuer, identity: name } };
}

const namesNobody = refused('its certificate names nobody');
const subjectExtensions = ['2.5.29.17'];
const issuerExtensions = ['1.3.6.1.4.1.57264.1.1', '1.3.6.1.4.1.57264.1.8'];

/** Whether a certificate holds a name byte by byte: the library drops the highest bit of each, so that it reads others as this one. */
function isWritten(name: string, identity: CertifiedIdentity, extensions: readonly string[]): boolean {
  return (identity?.oids ?? []).some(({ oid, value }) => {
    return extensions.includes(oid?.id.join('.') ?? '') && value.includes(name, 0, 'latin1');
  });
}

function holds(verify: () => unknown): boolean {
  try {
    verify();
    return true;
  } catch {
    // Another key may fit; for what none fits, the reason is that.
    return false;
  }
}

function refused(reason: string, { isUnknownLog = false, isUnknownKey = false } = {}): Verdict {
  return { kind: 'refused', reason, isUnknownLog, isUnknownKey };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? printable(shortened(error.message, maxReason)) : 'it cannot be verified';
}

/** A list of authorities, read. */
interface ParsedRoot {
  readonly text: string;
  readonly material: TrustMaterial;
  /** The logs that it knows, in base64. */
  readonly logs: ReadonlySet<string>;
}

/** The last one that was read: an install verifies many archives by one list, and making its keys takes longer than using them. */
let lastRoot: ParsedRoot | null = null;

function parseRoot({ text, file }: TrustRoot): ParsedRoot {
  if (lastRoot?.text === text) return lastRoot;
  const json = parseJsonObject(text);
  try {
    const root = TrustedRoot.fromJSON(json);
    // Without a beginning, a log that came later would vouch for what was signed before it was there.
    const isOpen = [...root.tlogs, ...root.ctlogs].some(({ publicKey }) => publicKey?.validFor?.start === undefined);
    if (isOpen) throw new Error('it has a log without the time from which it counts');
    if (json !== null && Array.isArray(json['tlogs']) && Array.isArray(json['certificateAuthorities'])) {
      const logs = root.tlogs.flatMap(({ logId, checkpointKeyId }) =>
        [logId, checkpointKeyId].flatMap((id) => (id === undefined ? [] : [Buffer.from(id.keyId).toString('base64')])),
      );
      lastRoot = { text, material: toTrustMaterial(root), logs: new Set(logs) };
      return lastRoot;
    }
  } catch (error) {
    throw notARoot(file, reasonOf(error));
  }
  throw notARoot(file, 'it lists no tlogs and certificateAuthorities');
}

function notARoot(file: string, reason: string): Diagnostic {
  return new Diagnostic('E-REG-013', `${file} is no trusted root of Sigstore: ${reason}`, {
    hint: 'put back the file, or run svc trust update',
  });
}
