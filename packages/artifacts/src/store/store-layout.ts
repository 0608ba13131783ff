/** Where a store keeps each archive, and what lies beside it. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { readSmallText, readTextIfThere } from '@svc/kit/files/read-text.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { isReason } from '@svc/protocol/version-states.ts';
import { isArtifactName, isExactVersion } from '../manifest/names.ts';
import type { ArtifactRef } from './artifact-ref.ts';

/** One archive of a store; `platform` is null for the generic file of its version. */
export interface StoredArchive extends ArtifactRef {
  readonly platform: string | null;
  readonly path: string;
  readonly sha256: string;
}

/** The files of one archive in a store (docs/cli.md "Files"). The archive is there once `hash` is; `signatures` is only there for one that has some. */
interface VariantPaths {
  readonly archive: string;
  readonly hash: string;
  readonly meta: string;
  readonly signatures: string;
}

/** Where the project's and the user's store are (docs/cli.md "Files"). */
export function storeRoot(parent: string): string {
  return join(parent, '.svc', 'artifacts');
}

/** The artifacts inside the package; laid out like a store, each tool and hook with its component compiled beside it. */
export function bundledRoot(packageRoot: string): string {
  return join(packageRoot, 'dist', 'bundled');
}

export function versionDirectory(root: string, ref: ArtifactRef): string {
  // Both become a path: the maker of the reference has to have checked them.
  if (!isArtifactName(ref.name) || !isExactVersion(ref.version)) {
    throw new Error('the name or the version of an artifact was not checked');
  }
  return join(root, ref.name, ref.version);
}

export function variantPaths(root: string, ref: ArtifactRef, platform: string | null): VariantPaths {
  const variant = platform === null ? '' : `-${platform}`;
  const archive = join(versionDirectory(root, ref), `${ref.name}-${ref.version}${variant}.zip`);
  return {
    archive,
    hash: hashFileOf(archive),
    meta: `${archive}.meta.json`,
    signatures: `${archive}.sigstore.jsonl`,
  };
}

/** Where the hash of an archive lies. */
export function hashFileOf(archive: string): string {
  return `${archive}.sha256`;
}

/** What the store records at this place; null when there is nothing, or a writer was killed before it was done. */
export function readVariant(root: string, ref: ArtifactRef, platform: string | null): StoredArchive | null {
  const paths = variantPaths(root, ref, platform);
  if (!existsSync(paths.archive)) return null;
  const text = readTextIfThere(paths.hash);
  const sha256 = text === null ? null : decodeHashFile(text);
  if (sha256 === null) return null;
  return { name: ref.name, version: ref.version, platform, path: paths.archive, sha256 };
}

/** The variant for the platform, else the generic file; null when the store has neither. */
export function findStored(root: string, ref: ArtifactRef, platform: string): StoredArchive | null {
  return readVariant(root, ref, platform) ?? readVariant(root, ref, null);
}

/** A hash file in the form that `sha256sum --check` reads. */
export function encodeHashFile(sha256: string, file: string): string {
  return `${sha256}  ${file}\n`;
}

/** The hash in such a file, or in one that holds it alone. */
function decodeHashFile(text: string): string | null {
  return /^([0-9a-f]{64})(?:\s|$)/.exec(text)?.[1] ?? null;
}

const blockedPrefix = 'blocked ';

/** What takes the place of the hash of an archive whose version is known to be blocked: without a hash it is not there, and this says why. */
export function encodeBlockedMark(reason: string | null): string {
  return `${blockedPrefix}${JSON.stringify(reason)}\n`;
}

/** The reason that such a mark gives, null where it gives none that can be read; undefined where there is no mark. */
export function blockedReason(root: string, ref: ArtifactRef, platform: string | null): string | null | undefined {
  const reading = readSmallText(variantPaths(root, ref, platform).hash);
  if (reading.kind !== 'text' || !reading.text.startsWith(blockedPrefix)) return undefined;
  const reason = parseJson(reading.text.slice(blockedPrefix.length));
  return isReason(reason) ? reason : null;
}
