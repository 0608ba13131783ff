/** Parses `from` of an artifact in the manifest, which names a place to fetch it from instead of the registry in use. */

import { ociAddress, ociAddressFault, ociPrefix, type OciRepositoryName } from './oci-reference.ts';

/** A release of a GitHub repository, or a repository of an OCI registry, whose tags are versions. */
export type ArtifactPlace =
  | { readonly kind: 'github'; readonly owner: string; readonly repo: string; readonly tag: string }
  | { readonly kind: 'oci'; readonly at: OciRepositoryName };

const releaseShape = /^github:([A-Za-z0-9][A-Za-z0-9-]{0,38})\/([A-Za-z0-9._-]{1,100})@([^\s@]{1,200})$/;

/** `github:<owner>/<repo>@<tag>` or `oci://<host>/<repository>`; null for any other text. */
export function parseArtifactPlace(text: string): ArtifactPlace | null {
  if (text.startsWith(ociPrefix)) {
    return ociAddressFault(text) === undefined ? { kind: 'oci', at: ociAddress(text) } : null;
  }
  const [, owner, repo, tag] = releaseShape.exec(text) ?? [];
  const isRelease = owner !== undefined && repo !== undefined && tag !== undefined;
  return isRelease ? { kind: 'github', owner, repo, tag } : null;
}
