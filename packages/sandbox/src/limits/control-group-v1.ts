/** Groups of version 1, which has a hierarchy for each controller: below the groups of this process, which stay as they are. */
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { join, relative } from 'node:path';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import type { GroupLimits, GroupMaker, GroupPlaceLook, OwnGroupFacts } from '../control-group.ts';
import { isDone, removeGroup, writeGroupFile } from './group-files.ts';
import { unescapeOctal } from './mappable.ts';

/**
 * The directory of the group of a controller that a process is in, of version 1; null where that is not mounted, or the group lies
 * beyond what is.
 */
export function ownGroupDirectoryV1(
  { membership, mounts }: Omit<OwnGroupFacts, 'pid'>,
  controller: string,
): string | null {
  const group = groupOf(membership, controller);
  if (group === null || group.startsWith('/..')) return null;
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', directory = ''] = before.split(' ').map(unescapeOctal);
    const [type, , options = ''] = after.split(' ');
    if (type !== 'cgroup' || !options.split(',').includes(controller)) continue;
    const below = relative(root, group);
    if (below !== '..' && !below.startsWith('../')) return join(directory, below);
  }
  return null;
}

function groupOf(membership: string, controller: string): string | null {
  for (const line of membership.split('\n')) {
    const [, controllers = '', ...path] = line.split(':');
    if (controllers.split(',').includes(controller)) return path.join(':');
  }
  return null;
}

/** Whether groups with limits of these controllers can be made below the groups of this process, as far as looking tells. */
export function lookForGroupsV1(facts: OwnGroupFacts, controllers: readonly string[]): GroupPlaceLook {
  const directories = new Map<string, string>();
  for (const controller of controllers) {
    const directory = ownGroupDirectoryV1(facts, controller);
    if (directory === null) {
      return { kind: 'none', obstacle: `no hierarchy of control groups of version 1 has ${controller}` };
    }
    try {
      accessSync(directory, constants.W_OK);
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      return { kind: 'none', obstacle: `${directory} is not this user's to divide: ${code}` };
    }
    directories.set(controller, directory);
  }
  return { kind: 'ahead', place: { enter: () => ({ kind: 'found', place: makerIn(directories) }) } };
}

/** Nothing is arranged for it, so nothing is to be given back. */
function makerIn(directories: ReadonlyMap<string, string>): GroupMaker {
  return { make: (limits) => makeGroup(directories, limits), leave: () => {} };
}

function makeGroup(directories: ReadonlyMap<string, string>, limits: GroupLimits): ReturnType<GroupMaker['make']> {
  const groups = new Map<string, string>();
  const fileOf = (name: string): string => join(groups.get(name.split('.')[0] ?? '') ?? '', name);
  const isMade = isDone(() => {
    for (const [controller, directory] of directories) {
      groups.set(controller, mkdtempSync(join(directory, 'svc-launches-')));
    }
    for (const [name, value] of Object.entries(limits)) {
      if (!mayBeLeftOut(fileOf(name))) writeGroupFile(fileOf(name), value);
    }
  });
  if (!isMade) {
    for (const group of groups.values()) rmdirSync(group);
    return null;
  }
  return {
    joins: [...groups.values()].map((group) => join(group, 'tasks')),
    path: (name) => (existsSync(fileOf(name)) ? fileOf(name) : null),
    close: async () => void (await Promise.all([...groups.values()].map(removeGroup))),
  };
}

/** What bounds memory and swap together is missing where the kernel was not told to count swap: where there is none, nothing is lost. */
function mayBeLeftOut(file: string): boolean {
  if (!file.endsWith('/memory.memsw.limit_in_bytes') || existsSync(file)) return false;
  return /^SwapTotal:\s+0 kB$/m.test(readFileSync('/proc/meminfo', 'latin1'));
}
