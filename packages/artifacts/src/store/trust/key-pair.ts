/** Makes key pairs, and signs archives with them. */

import { createPrivateKey, createPublicKey, createSign, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Chunks } from '@svc/kit/files/replace-file.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { encodeStatement, envelopeOf, preAuthentication, type Statement } from './statement.ts';

/** A new key pair as files hold it. */
export interface NewKeyPair {
  /** PKCS#8 in PEM, encrypted where there is a password. */
  readonly privatePem: string;
  readonly publicPem: string;
  /** The SHA-256 of the public key as DER. */
  readonly fingerprint: string;
}

/** ECDSA on P-256: other tools that verify Sigstore bundles know it, and not all of them Ed25519. */
export function generateKeys(password: Secret | null): NewKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const encryption = password === null ? {} : { cipher: 'aes-256-cbc', passphrase: password.reveal() };
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem', ...encryption }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    fingerprint: fingerprintOf(publicKey),
  };
}

/** The private key in a file. `E-REG-014` for anything else, and for one that the password does not open. */
export function readPrivateKey(path: string, password: Secret | null): KeyObject {
  const reading = readSmallText(path);
  if (reading.kind === 'absent') throw unusable(path, 'it is not there');
  if (reading.kind === 'unreadable') throw unusable(path, reading.reason);
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----/m.test(reading.text) && password === null) {
    throw unusable(path, 'it is encrypted', 'set SVC_KEY_PASSWORD to its password');
  }
  const key = decodePrivateKey(reading.text, password);
  if (key === null) throw unusable(path, 'it is no private key in PEM, or the password is not its own');
  const isKnown = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  if (!isKnown) throw unusable(path, 'it is no key for ECDSA on P-256');
  return key;
}

function decodePrivateKey(pem: string, password: Secret | null): KeyObject | null {
  try {
    return createPrivateKey({ key: pem, ...(password === null ? {} : { passphrase: password.reveal() }) });
  } catch {
    // OpenSSL throws errors of many kinds for what is no key.
    return null;
  }
}

function unusable(path: string, reason: string, hint = 'make a pair with svc key new'): Diagnostic {
  return new Diagnostic('E-REG-014', `cannot sign with ${path}: ${reason}`, { hint });
}

/** A bundle that signs the archive itself. `sha256` is over the same bytes. */
export async function signWithKey(chunks: Chunks, sha256: string, key: KeyObject): Promise<string> {
  const signing = createSign('sha256');
  for await (const chunk of chunks) signing.update(chunk);
  return JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { publicKey: { hint: fingerprintOf(createPublicKey(key)) } },
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest: Buffer.from(sha256, 'hex').toString('base64') },
      signature: signing.sign(key).toString('base64'),
    },
  });
}

/** A bundle with a statement, signed by a key. */
export function signStatementWithKey(statement: Statement, key: KeyObject): string {
  const payload = encodeStatement(statement);
  return JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { publicKey: { hint: fingerprintOf(createPublicKey(key)) } },
    dsseEnvelope: envelopeOf(payload, sign('sha256', preAuthentication(payload), key)),
  });
}

/** What names a public key in bundles and in `svc.lock`. */
export function fingerprintOf(publicKey: KeyObject): string {
  return sha256Hex(publicKey.export({ type: 'spki', format: 'der' }));
}
