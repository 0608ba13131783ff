import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { artifactName, exactVersion } from '../manifest/names.ts';
import { readSmallText } from '../manifest/read-text.ts';
import { type Archive, readArchive } from './archive.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';
import type { ArtifactKind } from './inspect-content.ts';
import { ioFault, isErrno } from './io-fault.ts';
import { platformShape } from './platform.ts';
import { RegularFile } from './regular-file.ts';
import { readVariant, type StoredArchive, variantPaths } from './store-layout.ts';
import { decodeKind } from './stored-meta.ts';

export interface OpenedArchive {
  readonly stored: StoredArchive;
  /** Its bytes have the recorded hash; the caller closes its file. */
  readonly archive: Archive;
}

export interface ListedArchive extends StoredArchive {
  /** Null when the store does not say. */
  readonly kind: ArtifactKind | null;
}

const maxAttempts = 3;

/** Where the project's and the user's store are (contracts §2 "Layout on disk"). */
export function storeRoot(parent: string): string {
  return join(parent, '.svc', 'artifacts');
}

/** The variant for the platform, else the generic file; null when the store has neither. */
export function findStored(root: string, ref: ArtifactRef, platform: string): StoredArchive | null {
  return readVariant(root, ref, platform) ?? readVariant(root, ref, null);
}

/** Opens what `findStored` finds and checks its hash; `E-ART-006` when it is damaged. */
export async function openStored(root: string, ref: ArtifactRef, platform: string): Promise<OpenedArchive | null> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const stored = findStored(root, ref, platform);
    const file = stored === null ? null : await RegularFile.openIfThere(stored.path);
    if (stored === null || file === null) return null;
    if ((await file.sha256()) === stored.sha256) return { stored, archive: await readOrClose(file) };
    await file.close();
    // A writer takes the record away before it replaces the archive: the same record again means damage, not a replacement.
    if (findStored(root, ref, platform)?.sha256 === stored.sha256) throw damaged(stored);
  }
  throw new Diagnostic('E-IO-001', `cannot read ${spell(ref)} in ${root}: it is being replaced all the time`);
}

/** Everything in a store, sorted by name, version and platform. */
export function listStored(root: string): ListedArchive[] {
  return namesIn(root)
    .filter((name) => artifactName.safeParse(name).success)
    .flatMap((name) => versionsIn(root, name).flatMap((version) => variantsIn(root, { name, version })));
}

/** The versions of an artifact that a store holds in any variant. */
export function storedVersions(root: string, name: string): string[] {
  return versionsIn(root, name).filter((version) => variantsIn(root, { name, version }).length > 0);
}

function versionsIn(root: string, name: string): string[] {
  return namesIn(join(root, name)).filter((version) => exactVersion.safeParse(version).success);
}

function variantsIn(root: string, ref: ArtifactRef): ListedArchive[] {
  const stem = `${ref.name}-${ref.version}`;
  return namesIn(join(root, ref.name, ref.version))
    .filter((file) => file.startsWith(stem) && file.endsWith('.zip'))
    .map((file) => file.slice(stem.length, -'.zip'.length))
    .filter((suffix) => suffix === '' || (suffix.startsWith('-') && platformShape.test(suffix.slice(1))))
    .flatMap((suffix) => {
      const stored = readVariant(root, ref, suffix === '' ? null : suffix.slice(1));
      return stored === null ? [] : [listed(root, stored)];
    });
}

function listed(root: string, stored: StoredArchive): ListedArchive {
  const reading = readSmallText(variantPaths(root, stored, stored.platform).meta);
  return { ...stored, kind: reading.kind === 'text' ? decodeKind(reading.text) : null };
}

async function readOrClose(file: RegularFile): Promise<Archive> {
  try {
    return await readArchive(file);
  } catch (error) {
    await file.close();
    throw error;
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return [];
    throw ioFault(error, `cannot read ${directory}`);
  }
}

function damaged(stored: StoredArchive): Diagnostic {
  return new Diagnostic('E-ART-006', `${stored.path} does not have the hash that was recorded with it`, {
    hint: `install ${spell(stored)} again`,
  });
}
