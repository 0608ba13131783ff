/** Names a place in an OCI registry: `oci://host[:port]/repository:tag@sha256:…`. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';

/** A repository of a registry. */
export interface OciRepositoryName {
  /** With its port, where it is not the usual one. */
  readonly host: string;
  /** Path components of small letters, parted by slashes. */
  readonly repository: string;
}

/** What one reference names: a tag, a digest, or a tag that has to have that digest. */
export interface OciReference extends OciRepositoryName {
  readonly tag: string | null;
  /** `sha256:` and 64 hex digits. */
  readonly digest: string | null;
}

export const ociPrefix = 'oci://';
const maxReference = 1000;
const host = String.raw`(?<host>(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]{2,39}\])(?::[0-9]{1,5})?)`;
const repository = String.raw`(?<repository>[a-z0-9]+(?:(?:[._/]|__|-+)[a-z0-9]+)*)`;
const tag = String.raw`(?::(?<tag>\w[\w.-]{0,127}))?`;
const digest = String.raw`(?:@(?<digest>sha256:[0-9a-f]{64}))?`;
const shape = new RegExp(`^oci://${host}/${repository}${tag}${digest}$`);

/** Reads a reference with a tag, a digest or both; `E-ART-008` for any other text. */
export function parseOciReference(text: string): OciReference {
  const found = parsed(text);
  if (found !== null && (found.tag !== null || found.digest !== null)) return found;
  throw new Diagnostic('E-ART-008', `${quoted(text.slice(0, maxReference))} does not name an artifact`, {
    hint: 'write oci://<host>/<repository>:<tag>, and @sha256:<digest> behind it to have those very bytes',
  });
}

/** Returns what is wrong with an `oci://` source, or undefined. */
export function ociAddressFault(text: string): string | undefined {
  const found = parsed(text);
  return found === null || found.tag !== null || found.digest !== null
    ? 'must be oci://<host>/<path>, in small letters and without a tag'
    : undefined;
}

/** Reads what `ociAddressFault` allows. */
export function ociAddress(text: string): OciRepositoryName {
  const found = parsed(text);
  if (found === null) throw new Error(`${text} was not checked`);
  return { host: found.host, repository: found.repository };
}

function parsed(text: string): OciReference | null {
  if (text.length > maxReference) return null;
  const groups = shape.exec(text)?.groups;
  if (groups === undefined) return null;
  const { host: at = '', repository: path = '', tag: named = null, digest: held = null } = groups;
  if (!URL.canParse(`https://${at}`)) return null;
  return { host: at, repository: path, tag: named, digest: held };
}

export function spellOci({ host: at, repository: path, tag: named, digest: held }: OciReference): string {
  return `${ociPrefix}${at}/${path}${named === null ? '' : `:${named}`}${held === null ? '' : `@${held}`}`;
}

/** One document of a repository, `oci://<host>/<repository>@sha256:…`, whatever its tags say. */
export interface PinnedPlace extends OciRepositoryName {
  readonly digest: string;
}

/** Reads the place of one document; null for any other text, such as one with a tag. */
export function parsePinnedPlace(text: string): PinnedPlace | null {
  const found = parsed(text);
  if (found === null || found.tag !== null || found.digest === null) return null;
  return { host: found.host, repository: found.repository, digest: found.digest };
}

/** The tag of a version: `+` may not stand in one. */
export function tagOfVersion(version: string): string {
  return version.replaceAll('+', '_');
}

/** Where the API of a registry is: without TLS on this machine alone. */
export function originOf({ host: at }: Pick<OciRepositoryName, 'host'>): string {
  const plain = `http://${at}`;
  return endpointFault(plain) === undefined ? plain : `https://${apiHosts[at] ?? at}`;
}

/** The registry that is meant when an image has no host answers elsewhere. */
const apiHosts: Readonly<Record<string, string>> = { 'docker.io': 'registry-1.docker.io' };
