/** What bounds the processes and the memory of a session, and by what mechanism each bound is held here. */

import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

import type { HeldBy, HeldLimit } from '@svc/protocol/held-limit.ts';
import type { Enforcement } from '../launch/enforcement.ts';
import type { ResourceLimits } from '../launch/process-grants.ts';
import type { HostAbility } from '../launch/host-ability.ts';
import { isMappable, type OwnGroupFacts } from '../own-facts.ts';
import { type GroupVersion, lookForGroups } from './control-group.ts';

/** The mechanisms that a session uses. The decision is made once: what is reported is what is carried out. */
export interface LimitHold {
  /** The limits as they are declared. */
  readonly resources: ResourceLimits;
  readonly limits: readonly HeldLimit[];
  /** The version of the control groups that bound the sum of the session; null where none does. */
  readonly groups: { readonly processes: GroupVersion | null; readonly memory: GroupVersion | null };
  /**
   * The user namespace that all launches of the session join: `mapped` for root, who is an unused number outside of it and finds its files
   * by a map of the mounts; `own` for an ordinary user; null without one.
   */
  readonly users: 'mapped' | 'own' | null;
  /** Around each program stand two processes of `svc-launch`. */
  readonly isSupervised: boolean;
  /** Memory is added up by `svc`, which ends the programs of the session when they take more. */
  readonly watchesMemory: boolean;
}

/** The lowest steps of the ladder that this machine gives, and nothing more. */
interface HeldBySteps {
  /** Is null if each launch is counted on its own, and nobody asked for more. */
  readonly sessionProcesses: HeldBy | null;
  /** For a launch on its own, where that is less than the session may have. */
  readonly programProcesses: HeldBy;
  readonly programMemory: HeldBy;
  readonly sessionMemory: HeldBy;
}

/** Most processes that may live at once in the session; where nothing is said of it, as many as in one launch. */
export function sessionProcesses(resources: ResourceLimits): number {
  return resources.session_processes ?? resources.processes;
}

/** Whether a launch is allowed less than all of them together. */
export function launchesAreBounded(resources: ResourceLimits): boolean {
  return resources.processes < sessionProcesses(resources);
}

/** Whether the processes around a program count as somebody else: in a namespace of its own below that of the session there is but one. */
export function countsApart({ users }: Pick<LimitHold, 'users'>, resources: ResourceLimits): boolean {
  return users === 'mapped' && !launchesAreBounded(resources);
}

/** In a user namespace a process's limit counts what is in it; elsewhere all that its user runs, by which the limit is raised. */
export function countsAlone(enforcement: Enforcement): boolean {
  return enforcement.class === 'sealed' && enforcement.root.userNamespace;
}

/** The limits of a session as the scope report has them. */
function heldLimits(resources: ResourceLimits, steps: HeldBySteps): readonly HeldLimit[] {
  const memory = resources.session_memory ?? null;
  const isEachAlone = steps.sessionProcesses === null;
  const isProgramHeldAlone = steps.sessionProcesses === 'none' && steps.programProcesses !== 'none';
  const program: readonly HeldLimit[] =
    launchesAreBounded(resources) || isEachAlone || isProgramHeldAlone
      ? [{ resource: 'processes', of: 'program', max: resources.processes, held_by: steps.programProcesses }]
      : [];
  const most = isEachAlone ? null : sessionProcesses(resources);
  return [
    { resource: 'processes', of: 'session', max: most, held_by: steps.sessionProcesses ?? 'none' },
    ...program,
    { resource: 'memory', of: 'program', max: resources.memory, held_by: steps.programMemory },
    { resource: 'memory', of: 'session', max: memory, held_by: memory === null ? 'none' : steps.sessionMemory },
  ];
}

/** Where the kernel enforces nothing. */
export function unheld(resources: ResourceLimits): LimitHold {
  const limits = heldLimits(resources, {
    sessionProcesses: 'none',
    programProcesses: 'none',
    programMemory: 'none',
    sessionMemory: 'none',
  });
  const groups = { processes: null, memory: null };
  return { resources, limits, groups, users: null, isSupervised: false, watchesMemory: false };
}

export interface LadderRequest {
  readonly resources: ResourceLimits;
  /** Where programs write: the workdir, state stores. What is not there yet will be on the file system of what is above it. */
  readonly directories: readonly string[];
}

interface LadderFacts {
  readonly enforcement: Enforcement;
  readonly ability: Pick<HostAbility, 'users'>;
  readonly isSuperuser: boolean;
  readonly own: OwnGroupFacts;
}

/** Looks, and changes nothing. */
export function climb({ resources, directories }: LadderRequest, facts: LadderFacts): LimitHold {
  const { own } = facts;
  const users = usersFor({ resources, directories }, facts);
  const processes = groupVersionFor('pids', own);
  const memory = resources.session_memory === undefined ? null : groupVersionFor('memory', own);
  const watchesMemory = resources.session_memory !== undefined && memory === null && canWatch(facts);
  // The kernel counts for root only in a namespace where it is somebody else.
  const counted: HeldBy = facts.isSuperuser ? (users === 'mapped' ? 'user-namespace' : 'none') : 'user';
  // In a namespace of its own each launch is counted without the others.
  const isShared = users !== null || !countsAlone(facts.enforcement);
  const isEachAlone = !facts.isSuperuser && resources.session_processes === undefined;
  const limits = heldLimits(resources, {
    sessionProcesses: processes ?? (isEachAlone ? null : isShared ? counted : 'none'),
    programProcesses: counted,
    programMemory: 'rlimit',
    sessionMemory: memory ?? (watchesMemory ? 'watched' : 'none'),
  });
  const isSupervised = facts.enforcement.class === 'sealed';
  return { resources, limits, groups: { processes, memory }, users, isSupervised, watchesMemory };
}

/** Only a composed root leaves no way to the files that the owner's number would open. */
function usersFor(
  { resources, directories }: LadderRequest,
  { enforcement, ability, isSuperuser, own }: LadderFacts,
): LimitHold['users'] {
  if (!countsAlone(enforcement) || !ability.users) return null;
  // An ordinary user has no second number for the processes around a program: they would count as its own.
  if (!isSuperuser) return resources.session_processes === undefined ? null : 'own';
  return directories.every((directory) => isMappable(nearestThere(directory), own.mounts)) ? 'mapped' : null;
}

function nearestThere(path: string): string {
  return existsSync(path) || dirname(path) === path ? realpathSync(path) : nearestThere(dirname(path));
}

/** Elsewhere a program can leave those by which it would be found. */
function canWatch({ enforcement }: LadderFacts): boolean {
  return enforcement.class === 'sealed' && existsSync('/proc/thread-self/children');
}

function groupVersionFor(controller: string, own: OwnGroupFacts): GroupVersion | null {
  const isThere = (version: GroupVersion): boolean => lookForGroups(version, own, [controller]).kind === 'ahead';
  return (['cgroup-v2', 'cgroup-v1'] as const).find(isThere) ?? null;
}
