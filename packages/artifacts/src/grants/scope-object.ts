/** Shows the grants of a capsule as JSON, for its trace and for the scope report. */

import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { HeldLimit } from '@svc/protocol/held-limit.ts';
import type { Approvals } from '../manifest/approvals.ts';
import type { ArtifactGrants } from './artifact-grants.ts';
import type { EffectiveGrants } from './effective-grants.ts';
import { type FlagFields, flagFields } from './flag-grants.ts';
import { type KeyFields, keyFields } from './host-bindings.ts';
import { type ListFields, listFields } from './list-grants.ts';

/** What the host answers to the floors that were declared (D1 "Scope report", Containment). */
export interface ContainmentReport {
  /** The strongest of all floors. */
  readonly declared: ContainmentClass;
  readonly achieved: ContainmentClass;
  readonly floorMet: boolean;
  /** D1 "Mechanism values". */
  readonly mechanism: string;
  /** `n/a` off Linux. */
  readonly usernsGrant: string;
}

/** One tool, driver or hook, a driver that is a program by its command, and the part of the workdir it sees; `path` is null when it sees none. */
export interface PreopenLine {
  readonly artifact: string;
  readonly runtime: ArtifactGrants['runtime'];
  readonly path: string | null;
  readonly writable: boolean;
  /** The names of its state stores, all writable; absent when it has none. Where they lie depends on what the artifact is. */
  readonly state?: readonly string[];
  /** What its program may run, beside the commands of the capsule; absent when that is nothing. */
  readonly runs?: readonly string[];
}

/** What `--explain-scope --json` prints and `session_start` records as `effective_grants` (D1 "Scope report"). */
export interface ScopeObject extends FlagFields, ListFields, KeyFields {
  readonly containment: {
    readonly declared: ContainmentClass;
    readonly achieved: ContainmentClass;
    readonly floor_met: boolean;
    readonly mechanism: string;
    readonly userns_grant: string;
  };
  readonly filesystem_scope: string | null;
  readonly read_only: boolean;
  readonly preopens: readonly PreopenLine[];
  readonly plan_submit: boolean;
  readonly interpreter_runtime: readonly string[];
  readonly staged_runtime: readonly string[];
  /** What bounds processes and memory on this machine. Not a field of D1. */
  readonly limits: readonly HeldLimit[];
  /**
   * The files and folders of the host that the program of the driver may read since `inference.command` names them. Not a field of D1;
   * `scopeOfLaunch` adds it to what `encodeScope` returns. Absent where the command names none.
   */
  readonly command_reads?: readonly string[];
  /** MCP servers on the web that svc asks, and the variable that holds what each is shown. Not a field of D1; absent without one. */
  readonly mcp_servers?: readonly { readonly artifact: string; readonly url: string; readonly auth: string | null }[];
  /**
   * The file of `inference.project_text` that a session begins with, its SHA-256 in hex, and whether the model gets only its first 32 KiB. Not a field of
   * D1; `scopeOfLaunch` adds it. Absent where none is there.
   */
  readonly project_text?: {
    readonly path: string;
    readonly bytes: number;
    readonly sha256: string;
    readonly truncated: boolean;
  };
  /** Which calls run, are asked about or are denied, as the manifest has it. Not a field of D1; `scopeOfLaunch` adds it. Absent without `approvals`. */
  readonly approvals?: Pick<Approvals, 'default' | 'opaque' | 'rules'>;
  /** The origin of the target of `notify`, or the program of `notify.command` of the user; `scopeOfLaunch` adds it. Not a field of D1; absent without one. */
  readonly notified?: string;
  /** The names of the variables that entries of artifacts set, by artifact; `scopeOfLaunch` adds it. Not a field of D1; absent where none does. */
  readonly tool_variables?: Readonly<Record<string, readonly string[]>>;
  /** The folders of the skills that `skills.discover` finds, by their names; `scopeOfLaunch` adds it. Not a field of D1; absent where it finds none. */
  readonly discovered_skills?: Readonly<Record<string, string>>;
  /** What MCP servers call the tools to which the manifest gives another name, by that. Not a field of D1; `scopeOfLaunch` adds it. Absent where it gives none. */
  readonly renamed_tools?: Readonly<Record<string, string>>;
  /**
   * Granted hosts that are reached through a proxy, `host:port`, and are judged by their names alone. Not a field of D1; `scopeOfLaunch` adds it to what
   * `encodeScope` returns. Absent where none is.
   */
  readonly proxied?: readonly { readonly host: string; readonly proxy: string }[];
  /**
   * The folder of the host that the capsule's programs see as `project/`, or the workdir that `--workdir` named, and the paths in it that are masked. Not
   * a field of D1; what runs a session adds it to what `encodeScope` returns. Absent for a fresh workdir alone.
   */
  readonly project_folder?: {
    readonly path: string;
    readonly writable: boolean;
    readonly masked: readonly string[];
    readonly is_workdir?: boolean;
    /** Whether what git runs there stays as it is; absent for `project/`. */
    readonly keeps_git?: boolean;
    /** The data of its repository, if that lies elsewhere and programs have it, and the working tree around the folder, of which they see the names. */
    readonly git?: { readonly path: string; readonly writable: boolean; readonly around: string | null };
    /** The place because of which git does not work there, and why, as the end of a sentence that begins with the place. */
    readonly closed_git?: { readonly path: string; readonly why: string };
  };
}

/** Declared destinations stay names: nothing is looked up (D1 "Scope report" 1). */
export function encodeScope(
  grants: EffectiveGrants,
  containment: ContainmentReport,
  limits: readonly HeldLimit[],
): ScopeObject {
  const { network_allow: network, ...otherLists } = listFields(grants);
  return {
    containment: {
      declared: containment.declared,
      achieved: containment.achieved,
      floor_met: containment.floorMet,
      mechanism: containment.mechanism,
      userns_grant: containment.usernsGrant,
    },
    filesystem_scope: grants.filesystemScope,
    ...flagFields(grants, 'filesystem'),
    read_only: grants.readOnly,
    preopens: [...grants.artifacts.map(preopenOf), ...processDriverOf(grants)],
    network_allow: network,
    ...keyFields(grants),
    ...flagFields(grants, 'network'),
    ...otherLists,
    plan_submit: grants.planSubmit,
    interpreter_runtime: grants.interpreterRuntime,
    staged_runtime: grants.stagedRuntime,
    limits,
    ...serversOf(grants),
  };
}

function serversOf({ remoteServers }: EffectiveGrants): Pick<ScopeObject, 'mcp_servers'> {
  if (remoteServers.length === 0) return {};
  return { mcp_servers: remoteServers.map(({ name, url, shown }) => ({ artifact: name, url, auth: shown })) };
}

function preopenOf({ name, runtime, preopen, stateStores, runs }: ArtifactGrants): PreopenLine {
  return {
    artifact: name,
    runtime,
    path: preopen?.scope ?? null,
    writable: preopen?.writable ?? false,
    ...(stateStores.length === 0 ? {} : { state: stateStores }),
    ...(runs.length === 0 ? {} : { runs }),
  };
}

/** A driver that is a program sees what the commands see (D1 "Scope report" 2). */
function processDriverOf({ processDriver, filesystemScope, readOnly }: EffectiveGrants): readonly PreopenLine[] {
  if (processDriver === null) return [];
  return [{ artifact: processDriver, runtime: 'driver', path: filesystemScope ?? '.', writable: !readOnly }];
}
