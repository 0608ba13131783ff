/** Lists and searches what local stores and registries have. */

import { statSync } from 'node:fs';
import { join } from 'node:path';

import { readSmallText } from '@svc/kit/files/read-text.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { namesIfThere, unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { IndexObject, VersionState } from '@svc/protocol/registry-messages.ts';
import { isArtifactName, isExactVersion } from '../manifest/names.ts';
import { type ArtifactRef, platformShape } from './artifact-ref.ts';
import { type ArtifactKind, readManifest } from './inspect-content.ts';
import { readVariant, type StoredArchive, variantPaths } from './store-layout.ts';
import { decodeKind } from './store-put.ts';
import { signaturesBeside } from './trust/signature-bundle.ts';
import { readArchive } from './archive.ts';
import { localPlaces } from './store-places.ts';
import type { LocalPlace, StorePlaces } from './store-places.ts';

interface ListedArchive extends StoredArchive {
  /** Is null when the store does not say. */
  readonly kind: ArtifactKind | null;
}

/** Everything in a store, sorted by name, version and platform. */
export function listStored(root: string): ListedArchive[] {
  return storedNames(root).flatMap((name) =>
    versionsIn(root, name).flatMap((version) => variantsIn(root, { name, version })),
  );
}

/** The names of which a store holds something, in no order. */
export function storedNames(root: string): readonly string[] {
  return namesIn(root).filter((name) => isArtifactName(name));
}

/** The versions of an artifact that a store holds in any variant. */
export function storedVersions(root: string, name: string): string[] {
  return versionsIn(root, name).filter((version) => variantsIn(root, { name, version }).length > 0);
}

/** An archive in one of the places of this machine. */
export interface LocalCopy extends StoredArchive {
  readonly origin: LocalPlace['origin'];
  /** Is null if it went away meanwhile. */
  readonly bytes: number | null;
  /** How many lie beside it. */
  readonly signatures: number;
}

/** Every archive of an artifact on this machine, place by place in the order of looking. */
export function copiesHere(places: StorePlaces, name: string): LocalCopy[] {
  return localPlaces(places).flatMap(({ origin, root }) =>
    versionsIn(root, name)
      .flatMap((version) => variantsIn(root, { name, version }))
      .map((stored) => copyOf(stored, origin)),
  );
}

function copyOf({ name, version, platform, path, sha256 }: StoredArchive, origin: LocalCopy['origin']): LocalCopy {
  return { name, version, platform, path, sha256, origin, ...fileFacts(path) };
}

function fileFacts(path: string): Pick<LocalCopy, 'bytes' | 'signatures'> {
  const bytes = unlessRefused(() => statSync(path).size, null);
  return { bytes, signatures: signaturesBeside(path).length };
}

function versionsIn(root: string, name: string): string[] {
  return namesIn(join(root, name)).filter((version) => isExactVersion(version));
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
  return namesIfThere(directory, `cannot read ${directory}`).sort();
}

/** One version of an artifact that can be found. */
export interface SearchEntry extends ArtifactRef {
  /** What it is for; `capsule` only where a store says so: a registry's index has no word for it. */
  readonly kind: ArtifactKind;
  /** Empty for the generic file alone. */
  readonly platforms: readonly string[];
  readonly description: string;
  readonly tags: readonly string[];
  /** What a registry says of it; `active` where none was asked. */
  readonly state: VersionState;
}

/** The entries in whose name, description or tags every one of the words occurs, in any case. */
export function search<Entry extends SearchEntry>(entries: readonly Entry[], words: readonly string[]): Entry[] {
  const wanted = words.map((word) => word.toLowerCase());
  return entries.filter(({ name, description, tags }) => {
    const text = [name, description, ...tags].join('\n').toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

export function entryOfIndex(object: IndexObject): SearchEntry {
  const { name, version, artifact_runtime: kind, platforms, description, tags, state = 'active' } = object;
  return {
    name,
    version,
    kind,
    platforms: platforms.map((pair) => pair.join('-')),
    description: description ?? '',
    tags,
    state,
  };
}

/** What is bundled and what the stores of project and user hold, each version once. An archive that cannot be read is reported and left out. */
export async function localEntries(
  places: StorePlaces,
  onFault: (fault: Diagnostic | DiagnosticList) => void,
): Promise<SearchEntry[]> {
  const entries = new Map<string, SearchEntry>();
  for (const { root } of localPlaces(places)) {
    for (const stored of listStored(root)) {
      const key = `${stored.name}@${stored.version}`;
      const known = entries.get(key) ?? (await described(stored, onFault));
      if (known === null) continue;
      const platforms = new Set([...known.platforms, ...(stored.platform === null ? [] : [stored.platform])]);
      entries.set(key, { ...known, platforms: [...platforms].sort() });
    }
  }
  return [...entries.values()];
}

async function described(
  stored: ListedArchive,
  onFault: (fault: Diagnostic | DiagnosticList) => void,
): Promise<SearchEntry | null> {
  const { name, version, path } = stored;
  try {
    const file = await RegularFile.open(path);
    try {
      const found = await readManifest(await readArchive(file));
      if (found.kind === 'capsule') {
        return { name, version, kind: 'capsule', platforms: [], description: '', tags: [], state: 'active' };
      }
      const { runtime: kind, description, tags } = found.manifest;
      return { name, version, kind, platforms: [], description, tags, state: 'active' };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (!(error instanceof Diagnostic || error instanceof DiagnosticList)) throw error;
    onFault(error);
    return null;
  }
}
