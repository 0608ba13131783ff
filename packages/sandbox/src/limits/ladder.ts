/** The ladder of mechanisms that bound processes and memory: the first one that can be had is taken, and said. */
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

import type { HeldBy } from '@svc/protocol/held-limit.ts';
import { type GroupPlaceLook, lookForGroupPlace, type OwnGroupFacts } from '../control-group.ts';
import type { Enforcement } from '../launch/compose-plan.ts';
import type { HostAbility } from '../launch/host-ability.ts';
import { lookForGroupsV1 } from './control-group-v1.ts';
import { countsAlone, type GroupVersion, heldLimits, type LimitHold } from './held-limits.ts';
import { isMappable } from './mappable.ts';
import type { ResourceLimits } from '../launch/process-grants.ts';

export interface LadderRequest {
  readonly resources: ResourceLimits;
  /** Where programs write: the workdir, state stores. What is not there yet will be on the file system of what is above it. */
  readonly directories: readonly string[];
}

export interface LadderFacts {
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
  return { limits, groups: { processes, memory }, users, isSupervised, watchesMemory };
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

const looks: Readonly<Record<GroupVersion, (own: OwnGroupFacts, controllers: readonly string[]) => GroupPlaceLook>> = {
  'cgroup-v2': lookForGroupPlace,
  'cgroup-v1': lookForGroupsV1,
};

function groupVersionFor(controller: string, own: OwnGroupFacts): GroupVersion | null {
  const isThere = (version: GroupVersion): boolean => looks[version](own, [controller]).kind === 'ahead';
  return (['cgroup-v2', 'cgroup-v1'] as const).find(isThere) ?? null;
}

/** The place of a version in which groups with these controllers are made: what was looked for, made so. */
export function enterGroups(
  own: OwnGroupFacts,
  version: GroupVersion,
  controllers: readonly string[],
): ReturnType<typeof enter> {
  return enter(looks[version](own, controllers));
}

function enter(look: GroupPlaceLook): ReturnType<Extract<GroupPlaceLook, { kind: 'ahead' }>['place']['enter']> {
  return look.kind === 'ahead' ? look.place.enter() : look;
}
