/** Names one version of an artifact, and the platform it is for. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shellWord } from '@svc/kit/diagnostics/shell-word.ts';
import { parseArtifactPlace } from '../manifest/artifact-place.ts';
import { type OciReference, ociPrefix, parseOciReference } from '../manifest/oci-reference.ts';
import { isArtifactName, isArtifactVersion, isReservedVersion } from '../manifest/names.ts';

/** One exact artifact; identity is the pair (D3 "Versioning" 4). */
export interface ArtifactRef {
  readonly name: string;
  readonly version: string;
}

/** A release of a repository, `github:<owner>/<repo>@<tag>` (D1 "Command line"). */
export interface ReleaseRef {
  readonly owner: string;
  readonly repo: string;
  readonly tag: string;
}

export type InstallTarget =
  | { readonly kind: 'artifact'; readonly ref: ArtifactRef }
  | { readonly kind: 'github'; readonly release: ReleaseRef }
  | { readonly kind: 'oci'; readonly reference: OciReference }
  | { readonly kind: 'path'; readonly path: string };

export function spell(ref: ArtifactRef): string {
  return `${ref.name}@${ref.version}`;
}

/** What `svc install <argument>` names. `E-ART-008` when it names nothing, `E-REG-004` for a reserved version (D1 "Versioning" 2). */
export function parseInstallTarget(argument: string): InstallTarget {
  if (argument.startsWith('github:')) {
    const place = parseArtifactPlace(argument);
    if (place?.kind === 'folder')
      throw malformed(argument, `svc add ${shellWord(argument)} takes the skill into svc.yaml`);
    if (place?.kind !== 'github') throw malformed(argument, installable);
    const { owner, repo, tag } = place;
    return { kind: 'github', release: { owner, repo, tag } };
  }
  if (argument.startsWith(ociPrefix)) return { kind: 'oci', reference: parseOciReference(argument) };
  if (isPath(argument)) return { kind: 'path', path: argument };
  const bare = isArtifactName(argument) ? `svc add ${argument} takes its newest version into svc.yaml; or ` : '';
  return { kind: 'artifact', ref: parseArtifactRef(argument, `${bare}${installable}`) };
}

/** A reference begins with a letter or digit and has an `@`. */
function isPath(argument: string): boolean {
  return /^(\.{1,2}$|\.{0,2}\/)/.test(argument) || /^[^@]*(\/[^@]*|\.zip)$/.test(argument);
}

const example = 'write <name>@<version>, for example svc-tool-editor@1.0.0';
const installable = `${example}, github:<owner>/<repo>@<tag>, oci://<host>/<repository>:<tag>, or a path such as ./echo-1.0.0.zip`;

/** Reads `<name>@<version>`. `E-ART-008` for any other text, with a hint of what may be written; `E-REG-004` for a reserved version. */
export function parseArtifactRef(argument: string, hint: string = example): ArtifactRef {
  const at = argument.indexOf('@');
  const name = argument.slice(0, Math.max(0, at));
  const version = argument.slice(at + 1);
  if (at < 0 || !isArtifactName(name) || !isArtifactVersion(version)) throw malformed(argument, hint);
  if (isReservedVersion(version)) {
    throw new Diagnostic('E-REG-004', `the reserved artifact version ${version} is not allowed`, {
      hint: `name an exact version, such as ${name}@1.0.0`,
    });
  }
  return { name, version };
}

function malformed(argument: string, hint: string): Diagnostic {
  return new Diagnostic('E-ART-008', `${JSON.stringify(argument)} does not name an artifact`, { hint });
}

const architectures: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/** `<os>-<arch>` of a platform variant, such as `linux-x86_64` (docs/protocol.md "The registry"). */
export const platformShape = /^[a-z0-9]+-[a-z0-9_]+$/;

/** The platform of a host, from Node's names for its operating system and architecture. */
export function platformOf(host: { readonly platform: string; readonly arch: string }): string {
  return `${host.platform}-${architectures[host.arch] ?? host.arch}`;
}
