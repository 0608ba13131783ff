/** Defines who can sign an archive, a CI job or the holder of a key, and how `svc.lock` writes that down. */

import { asJsonObject } from '@svc/protocol/json-object.ts';

/** The maker of a valid signature. */
export type Signer =
  /** An authority says that the signer was `identity` at `issuer` then. */
  | { readonly kind: 'identity'; readonly issuer: string; readonly identity: string }
  /** The SHA-256 of the public key, in lowercase hex. */
  | { readonly kind: 'key'; readonly fingerprint: string };

const longest = 1_000;
/** What certificates and addresses are made of; nothing that could look like another. */
const visibleAscii = /^[!-~]+$/;

/** Whether a text may stand for an issuer or an identity. */
export function isSignerText(text: unknown): text is string {
  return typeof text === 'string' && text.length <= longest && visibleAscii.test(text);
}

/** As `svc.lock` has it. */
export function encodeSigner(signer: Signer): Readonly<Record<string, string>> {
  if (signer.kind === 'key') return { key: `sha256:${signer.fingerprint}` };
  return { issuer: signer.issuer, identity: signer.identity };
}

/** Returns null for anything `encodeSigner` cannot produce. */
export function decodeSigner(value: unknown): Signer | null {
  const { issuer, identity, key, ...others } = asJsonObject(value) ?? {};
  if (Object.keys(others).length > 0) return null;
  if (key === undefined) {
    return isSignerText(issuer) && isSignerText(identity) ? { kind: 'identity', issuer, identity } : null;
  }
  if (issuer !== undefined || identity !== undefined || typeof key !== 'string') return null;
  const [, fingerprint] = /^sha256:([0-9a-f]{64})$/.exec(key) ?? [];
  return fingerprint === undefined ? null : { kind: 'key', fingerprint };
}
