/** Reads the paths of the registry's requests. Each is decoded once and then held to the shapes of names and versions. */

import { isArtifactName, isExactVersion } from '@svc/artifacts/manifest/names.ts';
import type { ArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import { artifactsPath, decodeArchivePath } from '@svc/protocol/registry-messages.ts';

/** The artifact that `/v1/artifacts/<name>` is about; null for any other path. */
export function nameOfVersions(path: string): string | null {
  const prefix = `${artifactsPath}/`;
  // A name has no character that would be escaped.
  const name = path.startsWith(prefix) ? path.slice(prefix.length) : '';
  return isArtifactName(name) ? name : null;
}

/** The version that `/v1/artifacts/<name>/<version>` is about; null for a path that leads anywhere else. */
export function parseArchivePath(path: string): ArtifactRef | null {
  const ref = decodeArchivePath(path);
  const isSound = isArtifactName(ref?.name) && isExactVersion(ref?.version);
  return isSound ? ref : null;
}

const stateSuffix = '/state';

/** The version that `/v1/artifacts/<name>/<version>/state` is about; null for any other path. */
export function parseStatePath(path: string): ArtifactRef | null {
  return path.endsWith(stateSuffix) ? parseArchivePath(path.slice(0, -stateSuffix.length)) : null;
}

/** Below it are pages for people (docs/registry.md "Pages"). */
export const pagesPrefix = '/-/';

/** What the page at a path is about. */
export type PagePath =
  | { readonly kind: 'list' }
  | { readonly kind: 'artifact'; readonly name: string }
  | { readonly kind: 'version'; readonly ref: ArtifactRef };

/** `/-/`, `/-/<name>` and `/-/<name>/<version>`; null for any other path. */
export function parsePagePath(path: string): PagePath | null {
  if (path === pagesPrefix) return { kind: 'list' };
  if (!path.startsWith(pagesPrefix)) return null;
  // What is below is named as it is at its address for programs.
  const same = `${artifactsPath}/${path.slice(pagesPrefix.length)}`;
  const name = nameOfVersions(same);
  if (name !== null) return { kind: 'artifact', name };
  const ref = parseArchivePath(same);
  return ref === null ? null : { kind: 'version', ref };
}
