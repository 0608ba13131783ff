/** Works out from a manifest what a capsule and its artifacts may do. */

import type { z } from 'zod/mini';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { defaultLimits } from '@svc/kit/default-limits.ts';
import {
  formatDestination,
  parseDestination,
  type NetworkDestination,
  destinationOf,
} from '@svc/kit/net/network-destination.ts';
import { isInterpreter } from '@svc/kit/interpreters.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { resourceLimits } from '../manifest/capabilities.ts';
import { remoteServerOf } from '../manifest/artifact-place.ts';
import { authShown } from '../manifest/server-auth.ts';
import { declaredArtifacts } from '../manifest/declared-artifacts.ts';
import type { ArtifactEntry, CapsuleManifest } from '../manifest/schema.ts';
import type { LoadedManifest } from '../manifest/loaded-manifest.ts';
import { normalizeHostPath } from '../manifest/host-path.ts';
import { normalizeProjectPath, normalizeWorkdirPath, type WorkdirPath } from '../manifest/workdir-path.ts';
import { declaredStores, narrowGrants, type ArtifactGrants, type CapsuleGrants } from './artifact-grants.ts';
import { askedFlag, eachFlag, type FlagGrants, flagsOf } from './flag-grants.ts';
import { keyGrantsIn, type KeyGrants } from './host-bindings.ts';
import { allLists, askedList, eachList, type ListGrants, listsOf, narrowedLists } from './list-grants.ts';

/** Bounds of one subprocess and of the workdir; sizes in bytes, times in seconds (docs/manifest.md "Keys"). */
type ResourceLimits = z.infer<typeof resourceLimits>;

/** What a capsule may touch, lowered from its manifest. Lists are without repetition, in the order of the file. */
export interface EffectiveGrants extends FlagGrants, ListGrants, KeyGrants {
  /** The manifest's own floor; null when it declares none. */
  readonly containmentFloor: ContainmentClass | null;
  /** Is null without a declared one: the whole accessible workdir. */
  readonly filesystemScope: WorkdirPath | null;
  readonly readOnly: boolean;
  /** Is null without `capabilities.project`. */
  readonly project: ProjectGrant | null;
  readonly planSubmit: boolean;
  /** Commands of `shellAllow` that run any code they are given. */
  readonly interpreterRuntime: readonly string[];
  /** Tools, drivers and hooks, in the order of the manifest; a bundled driver without an entry is last. */
  readonly artifacts: readonly ArtifactGrants[];
  /** `<name>@<version>` of every artifact the session is staged with, skills included. */
  readonly stagedRuntime: readonly string[];
  /** The program behind `inference.transport: process`, which has the capsule's own grants; null when a component is the driver. */
  readonly processDriver: string | null;
  /** Where the driver may go although `networkAllow` does not say so: the origin of `inference.endpoint` (docs/manifest.md "Narrowing"). */
  readonly endpoint: NetworkDestination | null;
  /** MCP servers on the web, which svc itself asks for the artifacts whose `from` names them. */
  readonly remoteServers: readonly RemoteServerGrant[];
  readonly resources: ResourceLimits;
}

/** The folder of the host that a manifest asks for; programs and tools see it as `project/`. */
export interface ProjectGrant {
  /** Below the folder of the manifest; null where `--project` has to name the folder. */
  readonly path: string | null;
  readonly write: boolean;
  /** Paths below the folder that are masked beside the usual names. */
  readonly mask: readonly string[];
}

/** An MCP server on the web. */
export interface RemoteServerGrant {
  /** The artifact. */
  readonly name: string;
  readonly url: string;
  /** The variable that holds what it is shown, `login`, or `client <id> by <variable>`; null where it is shown nothing. */
  readonly shown: string | null;
}

export interface Lowered {
  readonly grants: EffectiveGrants;
  /** `W-SEC-007`, for what an artifact asked beyond the capsule. */
  readonly warnings: readonly Diagnostic[];
}

const componentMemoryBytes = 512 * 1024 * 1024;
/** The time of a call where the manifest says nothing. */
export const defaultDeadlineSecs = 600;

/** Works out what a capsule and each of its artifacts may do. Reads only the manifest: no host, no registry, no name server. */
export function lower({ manifest, locate }: Pick<LoadedManifest, 'manifest' | 'locate'>): Lowered {
  const { capabilities, inference } = manifest;
  const lists = listsIn(capabilities);
  const capsule = capsuleGrantsOf(manifest, lists);
  const declared = declaredArtifacts(manifest);
  const narrowed = declared.flatMap((entry, index) =>
    isComponent(entry) ? [narrowGrants({ entry, capsule, path: ['artifacts', index], locate })] : [],
  );
  const grants: EffectiveGrants = {
    containmentFloor: capabilities.containment ?? null,
    filesystemScope: scopeOf(manifest),
    ...flagsOf(capsule),
    readOnly: capsule.readOnly,
    project: projectOf(manifest),
    ...lists,
    ...keyGrantsIn(capabilities),
    planSubmit: capabilities.plan?.submit ?? false,
    interpreterRuntime: lists.shellAllow.filter(isInterpreter),
    artifacts: narrowed.map((one) => one.grants),
    stagedRuntime: declared.map(({ name, version }) => `${name}@${version}`),
    processDriver: inference.transport === 'process' ? programOf(inference.command) : null,
    endpoint: inference.endpoint === undefined ? null : (destinationOf(new URL(inference.endpoint)) ?? null),
    remoteServers: declared.flatMap((entry) => {
      const url = remoteServerOf(entry.from);
      return url === null ? [] : [{ name: entry.name, url: url.href, shown: authShown(entry) }];
    }),
    resources: capabilities.resources ?? defaultLimits,
  };
  return { grants, warnings: narrowed.flatMap((one) => one.warnings) };
}

function listsIn(capabilities: CapsuleManifest['capabilities']): ListGrants {
  return eachList(allLists, {
    places: (list) => destinations(askedList(capabilities, list)),
    names: (list) => distinct(askedList(capabilities, list)),
    paths: (list) => distinct(askedList(capabilities, list)?.flatMap((path) => normalizeHostPath(path) ?? [])),
  });
}

function capsuleGrantsOf(manifest: CapsuleManifest, lists: ListGrants): CapsuleGrants {
  const { capabilities } = manifest;
  const { filesystem, state, limits } = capabilities;
  return {
    capsuleName: manifest.name,
    scope: scopeOf(manifest) ?? '.',
    readOnly: filesystem?.read_only ?? false,
    hasProject: capabilities.project !== undefined,
    ...eachFlag((flag) => askedFlag(capabilities, flag) ?? false),
    ...listsOf(lists, narrowedLists),
    stateStores: state === undefined ? [] : declaredStores(state, manifest.name),
    maxMemoryBytes: limits?.memory ?? componentMemoryBytes,
    deadlineSecs: limits?.deadline ?? defaultDeadlineSecs,
  };
}

function scopeOf({ capabilities }: CapsuleManifest): WorkdirPath | null {
  const scope = capabilities.filesystem?.scope;
  return scope === undefined ? null : (normalizeWorkdirPath(scope) ?? null);
}

function projectOf({ capabilities: { project } }: CapsuleManifest): ProjectGrant | null {
  if (project === undefined) return null;
  const path = project.path === undefined ? null : (normalizeProjectPath(project.path) ?? null);
  return {
    path,
    write: project.write,
    mask: distinct(project.mask.flatMap((each) => normalizeProjectPath(each) ?? [])),
  };
}

/** The first word of a command. */
function programOf(command: CapsuleManifest['inference']['command'] = ''): string {
  const [program = ''] = typeof command === 'string' ? command.trim().split(/\s+/) : command;
  return program;
}

function isComponent(
  entry: ArtifactEntry,
): entry is ArtifactEntry & { readonly runtime: Exclude<ArtifactEntry['runtime'], 'skill'> } {
  return entry.runtime !== 'skill' && remoteServerOf(entry.from) === null;
}

function destinations(allow: readonly string[] = []): readonly NetworkDestination[] {
  const bySpelling = new Map<string, NetworkDestination>();
  for (const text of allow) {
    const reading = parseDestination(text);
    if (reading.kind === 'destination') bySpelling.set(formatDestination(reading.destination), reading.destination);
  }
  return [...bySpelling.values()];
}

function distinct(names: readonly string[] = []): readonly string[] {
  return [...new Set(names)];
}
