/** Parses `from` of an artifact in the manifest, which names a place to fetch it from instead of the registry in use. */

import { endpointFault } from '@svc/kit/net/endpoint.ts';
import { ociAddress, ociAddressFault, ociPrefix, type OciRepositoryName } from './oci-reference.ts';

/** A release of a GitHub repository, a repository of an OCI registry, whose tags are versions, or an MCP server on the web. */
export type ArtifactPlace =
  | { readonly kind: 'github'; readonly owner: string; readonly repo: string; readonly tag: string }
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

const releaseShape = /^github:([A-Za-z0-9][A-Za-z0-9-]{0,38})\/([A-Za-z0-9._-]{1,100})@([^\s@]{1,200})$/;

/** `github:<owner>/<repo>@<tag>`, `oci://<host>/<repository>` or `mcp+https://<host>/<path>`; null for any other text. */
export function parseArtifactPlace(text: string): ArtifactPlace | null {
  if (text.startsWith(remotePrefix)) {
    const url = remoteServerOf(text);
    return url === null ? null : { kind: 'mcp', url };
  }
  if (text.startsWith(ociPrefix)) {
    return ociAddressFault(text) === undefined ? { kind: 'oci', at: ociAddress(text) } : null;
  }
  const [, owner, repo, tag] = releaseShape.exec(text) ?? [];
  const isRelease = owner !== undefined && repo !== undefined && tag !== undefined;
  return isRelease ? { kind: 'github', owner, repo, tag } : null;
}
