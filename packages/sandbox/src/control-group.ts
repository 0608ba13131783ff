/** Groups of version 2 below the group of this process, made by handing its controllers down. */
import { accessSync, constants, existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join, relative } from 'node:path';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { isDone, readGroupFile, removeGroup, wordsOf, writeGroupFile as write } from './limits/group-files.ts';
import { unescapeOctal } from './limits/mappable.ts';

/** A control group for launches; its limits hold for all processes in it together. */
export interface ControlGroup {
  /** By writing `0` to each of these a process joins (`native/svc-launch/PLAN.md`, `cgroup`). */
  readonly joins: readonly string[];
  /** Of a file of the group; null where there is none. */
  path(name: string): string | null;
  /** Ends what is left in the group, and removes it. */
  close(): Promise<void>;
}

/** Limits by the name of their files: `pids.max`. What stands before the dot is the controller. */
export type GroupLimits = Readonly<Record<string, string>>;

/** Makes groups in a place of its own. */
export interface GroupMaker {
  /** Null where the system makes none with all of these limits, or none that a process can join. */
  make(limits: GroupLimits): ControlGroup | null;
  /** Gives the place back as it was, as far as what is left there allows. After the groups that were made are closed. */
  leave(): void;
}

/** Where groups could be made, as far as looking tells. */
export interface GroupPlaceAhead {
  /** Arranges the place, or says as a clause for a person what is in the way after all. */
  enter(): GroupPlaceLookup;
}

interface NoGroups {
  readonly kind: 'none';
  /** A clause for a person: why this process can make no groups with such limits. */
  readonly obstacle: string;
}

export type GroupPlaceLookup = { readonly kind: 'found'; readonly place: GroupMaker } | NoGroups;

export type GroupPlaceLook = { readonly kind: 'ahead'; readonly place: GroupPlaceAhead } | NoGroups;

/** What this process knows of itself. */
export interface OwnGroupFacts {
  readonly pid: number;
  /** `/proc/self/cgroup`. */
  readonly membership: string;
  /** `/proc/self/mountinfo`. */
  readonly mounts: string;
}

/**
 * The directory of the group that a process is in, of version 2 of the hierarchy; null where that is not mounted, or the group lies
 * beyond what is.
 */
export function ownGroupDirectory({ membership, mounts }: Omit<OwnGroupFacts, 'pid'>): string | null {
  const group = /^0::(\/.*)$/m.exec(membership)?.[1];
  if (group === undefined || group.startsWith('/..')) return null;
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', directory = ''] = before.split(' ').map(unescapeOctal);
    if (!after.startsWith('cgroup2 ')) continue;
    const below = relative(root, group);
    if (below !== '..' && !below.startsWith('../')) return join(directory, below);
  }
  return null;
}

/**
 * Makes the place in which groups can be made below the group of this process: the controllers are handed down to the groups below. A
 * group that does so may hold no process itself, unless it is the root of all, so this one moves into a group of its own below first. Groups
 * that hold other processes too are left as they are, because somebody else arranges them.
 */
export function findGroupPlace(facts: OwnGroupFacts, controllers: readonly string[]): GroupPlaceLookup {
  const look = lookForGroupPlace(facts, controllers);
  return look.kind === 'ahead' ? look.place.enter() : look;
}

/** The same, as far as it can be told without changing anything. */
export function lookForGroupPlace(facts: OwnGroupFacts, controllers: readonly string[]): GroupPlaceLook {
  const directory = ownGroupDirectory(facts);
  if (directory === null) return none('no hierarchy of control groups of version 2 holds this process');
  try {
    const offered = wordsOf(join(directory, 'cgroup.controllers'));
    const missing = controllers.filter((each) => !offered.includes(each));
    if (missing.length > 0) return none(`${missing.join(', ')} cannot be limited below ${directory}`);
    for (const name of ['.', 'cgroup.procs', 'cgroup.subtree_control'])
      accessSync(join(directory, name), constants.W_OK);
    const place = new GroupPlace({ directory, pid: facts.pid });
    if (!place.isOwn()) return none(`${directory} holds other processes too`);
    return { kind: 'ahead', place: { enter: () => entered(place, { directory, controllers }) } };
  } catch (error) {
    return none(refusedBy(error, directory));
  }
}

function entered(
  place: GroupPlace,
  { directory, controllers }: { readonly directory: string; readonly controllers: readonly string[] },
): GroupPlaceLookup {
  try {
    return place.enter(controllers) ? { kind: 'found', place } : none(`${directory} holds other processes too`);
  } catch (error) {
    return none(refusedBy(error, directory));
  }
}

function refusedBy(error: unknown, directory: string): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return `${directory} is not this user's to divide: ${code}`;
}

function none(obstacle: string): NoGroups {
  return { kind: 'none', obstacle };
}

/** The group of this process, with groups below it that it made. */
class GroupPlace implements GroupMaker {
  readonly #directory: string;
  readonly #pid: number;
  /** The controllers that were not handed down before. */
  #handedDown: readonly string[] = [];
  /** Where this process moved to. */
  #refuge: string | null = null;

  constructor({ directory, pid }: { readonly directory: string; readonly pid: number }) {
    this.#directory = directory;
    this.#pid = pid;
  }

  /** Whether nobody but this process and its children would have to be moved, or the group is the root of all. */
  isOwn(): boolean {
    const isOurs = (pid: string): boolean => pid === `${this.#pid}` || parentOf(pid) === this.#pid;
    return this.#isRoot() || wordsOf(this.#file('cgroup.procs')).every(isOurs);
  }

  /** False where other processes are in the way. */
  enter(controllers: readonly string[]): boolean {
    const before = wordsOf(this.#file('cgroup.subtree_control'));
    if (!this.isOwn()) return false;
    if (!this.#isRoot()) this.#refuge = mkdtempSync(this.#file('svc-runtime-'));
    try {
      if (this.#refuge !== null) this.#moveAll(this.#directory, this.#refuge);
      this.#handedDown = controllers.filter((each) => !before.includes(each));
      write(this.#file('cgroup.subtree_control'), controllers.map((each) => `+${each}`).join(' '));
    } catch (error) {
      this.leave();
      throw error;
    }
    return true;
  }

  make(limits: GroupLimits): ControlGroup | null {
    let group = '';
    const isMade = isDone(() => {
      group = mkdtempSync(this.#file('svc-launches-'));
      for (const [name, value] of Object.entries(limits)) write(join(group, name), value);
    });
    // Below a group of threads it would be something else, which nothing can be in.
    if (isMade && readFileSync(join(group, 'cgroup.type'), 'latin1') === 'domain\n') {
      return {
        joins: [join(group, 'cgroup.procs')],
        path: (name) => (existsSync(join(group, name)) ? join(group, name) : null),
        close: () => removeGroup(group),
      };
    }
    if (group !== '') rmdirSync(group);
    return null;
  }

  leave(): void {
    // What is handed down is taken from every group here: the limits of others would go with it.
    if (this.#isShared()) return;
    try {
      write(this.#file('cgroup.subtree_control'), this.#handedDown.map((each) => `-${each}`).join(' '));
      this.#handedDown = [];
      if (this.#refuge === null) return;
      this.#moveAll(this.#refuge, this.#directory);
      rmdirSync(this.#refuge);
      this.#refuge = null;
    } catch (error) {
      // A group that could not be removed is in the way. What is left goes with the unit.
      if (errorCode(error) === undefined) throw error;
    }
  }

  /** A child that has ended meanwhile is in no group any more. */
  #moveAll(from: string, to: string): void {
    for (const pid of wordsOf(join(from, 'cgroup.procs'))) {
      const move = (): void => write(join(to, 'cgroup.procs'), pid);
      if (pid === `${this.#pid}`) move();
      else isDone(move);
    }
  }

  /** The root of all groups has no state of its own to tell. */
  #isRoot(): boolean {
    return !existsSync(this.#file('cgroup.events'));
  }

  #isShared(): boolean {
    const entries = readdirSync(this.#directory, { withFileTypes: true });
    return entries.some((entry) => entry.isDirectory() && this.#file(entry.name) !== this.#refuge);
  }

  #file(name: string): string {
    return join(this.#directory, name);
  }
}

function parentOf(pid: string): number | null {
  const parent = /^PPid:\t(\d+)$/m.exec(readGroupFile(`/proc/${pid}/status`))?.[1];
  return parent === undefined ? null : Number(parent);
}
