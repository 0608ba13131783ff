/** Searches the artifacts that a registry or a local store offers. */

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { archiveKind, parseArtifactManifest } from '../manifest/artifact-manifest.ts';
import { readArchive } from './archive.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { type ArtifactKind, manifestFile, readManifestText } from './inspect-content.ts';
import { type ListedArchive, listStored } from './list-stored.ts';
import { localPlaces, type StorePlaces } from './locate.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import type { IndexObject } from '@svc/protocol/registry-messages.ts';

/** One version of an artifact that can be found. */
export interface SearchEntry extends ArtifactRef {
  /** What it is for; `capsule` only where a store says so: a registry's index has no word for it. */
  readonly kind: ArtifactKind;
  /** Empty for the generic file alone. */
  readonly platforms: readonly string[];
  readonly description: string;
  readonly tags: readonly string[];
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
  const { name, version, artifact_runtime: kind, platforms, description, tags } = object;
  return {
    name,
    version,
    kind,
    platforms: platforms.map((pair) => pair.join('-')),
    description: description ?? '',
    tags,
  };
}

/** What is bundled and what the stores of project and user hold, each version once. An archive that cannot be read is told and left out. */
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
      const text = await readManifestText(await readArchive(file));
      if (archiveKind(text, path) === 'capsule') {
        return { name, version, kind: 'capsule', platforms: [], description: '', tags: [] };
      }
      const { runtime: kind, description, tags } = parseArtifactManifest(text, `${path}/${manifestFile}`).manifest;
      return { name, version, kind, platforms: [], description, tags };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (!(error instanceof Diagnostic || error instanceof DiagnosticList)) throw error;
    onFault(error);
    return null;
  }
}
