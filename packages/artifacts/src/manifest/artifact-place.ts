/** Parses `from` of an artifact in the manifest, which names a place to fetch it from instead of the registry in use. */

import { endpointFault } from '@svc/kit/net/endpoint.ts';
import { ociAddress, ociAddressFault, ociPrefix, type OciRepositoryName } from './oci-reference.ts';

/** A folder of a GitHub repository that is a skill. */
export interface RepositoryFolder {
  /** `<owner>/<repo>` */
  readonly repo: string;
  /** A tag, a branch or a commit. */
  readonly ref: string;
  /** From the root of the repository, which is `.` itself. */
  readonly folder: string;
}

/**
 * A release of a GitHub repository, a folder of one, a repository of an OCI registry, whose tags are versions, or an MCP server on the web.
 */
export type ArtifactPlace =
  | { readonly kind: 'github'; readonly owner: string; readonly repo: string; readonly tag: string }
  | { readonly kind: 'folder'; readonly at: RepositoryFolder }
  | { readonly kind: 'oci'; readonly at: OciRepositoryName }
  | { readonly kind: 'mcp'; readonly url: URL };

const remotePrefix = 'mcp+';

/** Whether a text that a person gives is the address of an MCP server on the web, as a `from` has it or as people paste it. */
export function isRemoteAddress(text: string): boolean {
  return /^(?:mcp\+)?https?:/.test(text);
}

/** Such an address as people paste it. */
export function pastedAddress(text: string): string {
  return text.startsWith(remotePrefix) ? text.slice(remotePrefix.length) : text;
}

/** The address of the MCP server on the web that a `from` names; null for any other. */
export function remoteServerOf(from: string | undefined): URL | null {
  const url = from?.startsWith(remotePrefix) === true ? from.slice(remotePrefix.length) : null;
  return url === null || endpointFault(url) !== undefined ? null : new URL(url);
}

const releaseShape =
  /^github:([A-Za-z0-9][A-Za-z0-9-]{0,38})\/([A-Za-z0-9._-]{1,100})@([^\s@#]{1,200})(?:#([^\s@#\\]{1,400}))?$/;

/** `github:<owner>/<repo>@<tag>`, `github:<owner>/<repo>@<ref>#<folder>`, `oci://<host>/<repository>` or `mcp+https://<host>/<path>`; null for any other text. */
export function parseArtifactPlace(text: string): ArtifactPlace | null {
  if (text.startsWith(remotePrefix)) {
    const url = remoteServerOf(text);
    return url === null ? null : { kind: 'mcp', url };
  }
  if (text.startsWith(ociPrefix)) {
    return ociAddressFault(text) === undefined ? { kind: 'oci', at: ociAddress(text) } : null;
  }
  const [, owner, repo, tag, folder] = releaseShape.exec(text) ?? [];
  if (owner === undefined || repo === undefined || tag === undefined || isStep(repo)) return null;
  if (folder === undefined) return { kind: 'github', owner, repo, tag };
  const isPath = folder === '.' || !folder.split('/').some(isStep);
  return isPath && !tag.split('/').some(isStep)
    ? { kind: 'folder', at: { repo: `${owner}/${repo}`, ref: tag, folder } }
    : null;
}

function isStep(part: string): boolean {
  return part === '' || part === '.' || part === '..';
}

/** The folder of one commit, as `svc.lock` has it; null for any other text. */
export function parsePinnedFolder(text: string): RepositoryFolder | null {
  const place = parseArtifactPlace(text);
  return place?.kind === 'folder' && isCommit(place.at.ref) ? place.at : null;
}

export function spellFolder({ repo, ref, folder }: RepositoryFolder): string {
  return `github:${repo}@${ref}#${folder}`;
}

export function isCommit(ref: string): boolean {
  return /^[0-9a-f]{40}$/.test(ref);
}
