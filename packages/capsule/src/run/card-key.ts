/** The key that the agent cards of a user's capsules are signed with: `~/.svc/keys/card.jwk`. */

import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { writeNewFileSync } from '@svc/kit/files/replace-file.ts';
import { parseJsonObject } from '@svc/protocol/json-object.ts';
import type { CardKey } from '@svc/doors/core/card-signature.ts';

/** A key, and what those need who verify what it signs. */
export interface KeptCardKey extends CardKey {
  readonly path: string;
  /** The public half as a JSON Web Key. */
  readonly publicJwk: Readonly<Record<string, string>>;
}

/** Longer than any key of this kind. */
const maxBytes = 4096;

function cardKeyPath(home: string): string {
  return join(home, '.svc', 'keys', 'card.jwk');
}

/** Returns null where the user has none. `E-RUN-160` for a file that is no such key, or that others may read or write. */
export function readCardKey(home: string): KeptCardKey | null {
  const path = cardKeyPath(home);
  const text = ownText(path);
  return text === null ? null : keyOf(path, text);
}

/** Makes the key of a user who has none. Throws what `readCardKey` throws for one that is there. */
export function makeCardKey(home: string): { readonly key: KeptCardKey; readonly isNew: boolean } {
  const known = readCardKey(home);
  if (known !== null) return { key: known, isNew: false };
  const path = cardKeyPath(home);
  const { privateKey } = generateKeyPairSync('ed25519');
  const text = `${JSON.stringify(privateKey.export({ format: 'jwk' }))}\n`;
  try {
    makeDirectories(dirname(path), 0o700);
    writeNewFileSync(path, Buffer.from(text), 0o600);
  } catch (error) {
    throw ioFault(error, `cannot write ${path}`);
  }
  return { key: keyOf(path, text), isNew: true };
}

/** Returns null where nothing is there. */
function ownText(path: string): string | null {
  const fd = openKey(path);
  if (fd === null) return null;
  try {
    const { uid, mode, size, isRegular } = factsOf(fd);
    if (!isRegular) throw unusable(path, 'is no regular file');
    if (uid !== process.getuid?.() || (mode & 0o077) !== 0) {
      throw unusable(path, 'may be read or written by others', `make it yours alone: chmod 600 ${path}`);
    }
    if (size > maxBytes) throw unusable(path, 'is longer than a key');
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

function openKey(path: string): number | null {
  try {
    // Without O_NONBLOCK a pipe at this place would hold the open for ever.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
    if (isErrno(error, 'ELOOP')) throw unusable(path, 'is a link');
    throw ioFault(error, `cannot read ${path}`);
  }
}

function factsOf(fd: number): {
  readonly uid: number;
  readonly mode: number;
  readonly size: number;
  readonly isRegular: boolean;
} {
  const stat = fstatSync(fd, { bigint: true });
  return { uid: Number(stat.uid), mode: Number(stat.mode), size: Number(stat.size), isRegular: stat.isFile() };
}

function keyOf(path: string, text: string): KeptCardKey {
  const { kty, crv, d, x } = parseJsonObject(text) ?? {};
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof d !== 'string' || typeof x !== 'string') throw noKey(path);
  const privateKey = privateKeyOf(path, { kty, crv, d, x });
  const own = privateKey.export({ format: 'jwk' });
  // A public half that is not that of the private one would be handed to clients, and verify nothing.
  if (own.x !== x) throw noKey(path);
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url');
  return { path, privateKey, kid, publicJwk: { kty, crv, x, kid, alg: 'EdDSA', use: 'sig' } };
}

function privateKeyOf(path: string, key: Readonly<Record<'kty' | 'crv' | 'd' | 'x', string>>): KeyObject {
  try {
    return createPrivateKey({ key, format: 'jwk' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw noKey(path);
  }
}

function noKey(path: string): Diagnostic {
  return unusable(path, 'is no private Ed25519 key as a JSON Web Key');
}

function unusable(path: string, why: string, hint = 'move it away, and make another with svc key card'): Diagnostic {
  return new Diagnostic('E-RUN-160', `the key of agent cards, ${path}, ${why}`, { hint });
}
