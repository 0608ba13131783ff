/** Remembers which archives had a valid signature, so that a start need not verify again what an install has verified. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { parseJsonObject } from '@svc/protocol/json-object.ts';
import { decodeSigner, encodeSigner, type Signer } from './signer.ts';

const passVersion = 1;

/** What was verified: these bytes, by this list of authorities. */
export interface PassedArchive {
  readonly userHome: string;
  readonly sha256: string;
  /** The SHA-256 of the list of authorities. */
  readonly root: string;
}

/**
 * Who has signed an archive, as an earlier verification by the same list found; null when none did. Whether that signer is accepted is not part of it.
 */
export function readPass(archive: PassedArchive): Signer | null {
  const reading = readSmallText(passFile(archive));
  if (reading.kind !== 'text') return null;
  const { pass_version: version, sha256, root, signed_by: by } = parseJsonObject(reading.text) ?? {};
  const isOfThis = version === passVersion && sha256 === archive.sha256 && root === archive.root;
  return isOfThis ? decodeSigner(by) : null;
}

/** Keeps a pass for those who may read it: this user alone. A home that cannot be written keeps none. */
export function keepPass(archive: PassedArchive, signer: Signer): void {
  const { sha256, root } = archive;
  const pass = { pass_version: passVersion, sha256, root, signed_by: encodeSigner(signer) };
  unlessRefused(() => {
    makeDirectories(passDirectory(archive.userHome), 0o700);
    replaceFileSync(passFile(archive), Buffer.from(`${JSON.stringify(pass)}\n`), { mode: 0o600, isDurable: false });
  }, undefined);
}

/** Forgets one, so that the archive is verified again. */
export function dropPass(archive: Pick<PassedArchive, 'userHome' | 'sha256'>): void {
  unlessRefused(() => rmSync(passFile(archive), { force: true }), undefined);
}

function passDirectory(userHome: string): string {
  return join(userHome, '.svc', 'cache', 'verified');
}

function passFile({ userHome, sha256 }: Pick<PassedArchive, 'userHome' | 'sha256'>): string {
  return join(passDirectory(userHome), `${sha256}.json`);
}
