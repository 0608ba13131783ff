/** Lists the artifacts of a store. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { artifactName, exactVersion } from '../manifest/names.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import { type ArtifactRef, platformShape } from './artifact-ref.ts';
import type { ArtifactKind } from './inspect-content.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readVariant, type StoredArchive, variantPaths } from './store-layout.ts';
import { decodeKind } from './store-put.ts';

export interface ListedArchive extends StoredArchive {
  /** Null when the store does not say. */
  readonly kind: ArtifactKind | null;
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

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return [];
    throw ioFault(error, `cannot read ${directory}`);
  }
}
