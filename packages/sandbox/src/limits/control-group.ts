/** Makes control groups below those of this process, of either version. */

import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  closeSync,
  openSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { refusalCode } from '@svc/kit/diagnostics/system-reason.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { type OwnGroupFacts, ownGroupDirectory } from '../own-facts.ts';
import { killOne } from '../child-group.ts';
import { groupPrefix, removeAbandoned } from './abandoned-groups.ts';

/** A control group for launches; its limits hold for all processes in it together. */
export interface ControlGroup {
  /** By writing `0` to each of these a process joins (`native/svc-launch/PLAN.md`, `cgroup`). */
  readonly joins: readonly string[];
  /** Returns the path of a file of the group; null if the group has no such file. */
  path(name: string): string | null;
  /** Ends what is left in the group, and removes it. */
  close(): Promise<void>;
}

/** Limits by the name of their files: `pids.max`. What stands before the dot is the controller. */
export type GroupLimits = Readonly<Record<string, string>>;

/** Makes groups in a place of its own. */
export interface GroupMaker {
  /** Returns null where the system makes none with all of these limits, or none that a process can join. */
  make(limits: GroupLimits): ControlGroup | null;
  /** Restores the parent group, unless processes remain in it. After the groups that were made are closed. */
  leave(): void;
}

/** Where groups could be made, as far as looking shows. */
interface GroupPlaceAhead {
  /** Arranges the place, or says as a clause for a person what is in the way after all. */
  enter(): GroupPlaceLookup;
}

interface NoGroups {
  readonly kind: 'none';
  /** A clause for a person: why this process can make no groups with such limits. */
  readonly obstacle: string;
}

export type GroupPlaceLookup = { readonly kind: 'found'; readonly place: GroupMaker } | NoGroups;

type GroupPlaceLook = { readonly kind: 'ahead'; readonly place: GroupPlaceAhead } | NoGroups;

/** A version of control groups. The second has one hierarchy for all controllers, the first one for each. */
export type GroupVersion = 'cgroup-v2' | 'cgroup-v1';

/** Whether groups of a version with limits of these controllers can be made below the group of this process, as far as looking shows. */
export function lookForGroups(
  version: GroupVersion,
  facts: OwnGroupFacts,
  controllers: readonly string[],
): GroupPlaceLook {
  return version === 'cgroup-v2' ? lookForGroupsV2(facts, controllers) : lookForGroupsV1(facts, controllers);
}

/** The place in which groups of a version with these controllers are made: what was looked for, made so. */
export function enterGroups(
  version: GroupVersion,
  facts: OwnGroupFacts,
  controllers: readonly string[],
): GroupPlaceLookup {
  const look = lookForGroups(version, facts, controllers);
  return look.kind === 'ahead' ? look.place.enter() : look;
}

/**
 * The controllers are handed down to the groups below. A group that does so may hold no process itself, unless it is the root of all, so
 * this one moves into a group of its own below first. Groups that hold other processes too are left as they are, because somebody else
 * arranges them.
 */
function lookForGroupsV2(facts: OwnGroupFacts, controllers: readonly string[]): GroupPlaceLook {
  const directory = ownGroupDirectory(facts, null);
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
  return `${directory} is not this user's to divide: ${refusalCode(error)}`;
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
    removeAbandoned(this.#directory);
    if (!this.#isRoot()) this.#refuge = mkdtempSync(this.#file(groupPrefix('runtime')));
    try {
      if (this.#refuge !== null) this.#moveAll(this.#directory, this.#refuge);
      this.#handedDown = controllers.filter((each) => !before.includes(each));
      writeGroupFile(this.#file('cgroup.subtree_control'), controllers.map((each) => `+${each}`).join(' '));
    } catch (error) {
      this.leave();
      throw error;
    }
    return true;
  }

  make(limits: GroupLimits): ControlGroup | null {
    let group = '';
    const isMade = isDone(() => {
      group = mkdtempSync(this.#file(groupPrefix('launches')));
      for (const [name, value] of Object.entries(limits)) writeGroupFile(join(group, name), value);
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
    // A group that could not be removed is in the way. What is left goes with the unit.
    unlessRefused(() => {
      writeGroupFile(this.#file('cgroup.subtree_control'), this.#handedDown.map((each) => `-${each}`).join(' '));
      this.#handedDown = [];
      if (this.#refuge === null) return;
      this.#moveAll(this.#refuge, this.#directory);
      rmdirSync(this.#refuge);
      this.#refuge = null;
    }, undefined);
  }

  /** A child that has ended meanwhile is in no group any more. */
  #moveAll(from: string, to: string): void {
    for (const pid of wordsOf(join(from, 'cgroup.procs'))) {
      const move = (): void => writeGroupFile(join(to, 'cgroup.procs'), pid);
      if (pid === `${this.#pid}`) move();
      else isDone(move);
    }
  }

  /** The root of all groups reports no state of its own. */
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

function wordsOf(file: string): readonly string[] {
  return readFileSync(file, 'latin1').split(/\s+/).filter(Boolean);
}

/** These files take a text in one piece, and some of them cannot be read. */
function writeGroupFile(file: string, text: string): void {
  const descriptor = openSync(file, constants.O_WRONLY);
  try {
    writeSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

/** Empty where there is no such file. */
export function readGroupFile(file: string): string {
  return unlessRefused(() => readFileSync(file, 'latin1'), '');
}

/** The number behind a word, as files of events have it; 0 without that word. */
export function countOf(text: string, word: string): number {
  return Number(new RegExp(`^${word} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

const maxRemoval = 100;

/** What is killed takes a moment to be gone, and a group can be removed only then. */
async function removeGroup(group: string): Promise<void> {
  for (let attempt = 0; attempt < maxRemoval; attempt += 1) {
    endGroup(group);
    if (isDone(() => rmdirSync(group))) return;
    await setTimeout(20);
  }
}

/** Version 1 has no such file, nor have kernels before 5.14: there each process is ended on its own, until none is left. */
function endGroup(group: string): void {
  if (isDone(() => writeGroupFile(join(group, 'cgroup.kill'), '1'))) return;
  // Nobody is started any more meanwhile, where that can be said.
  isDone(() => writeGroupFile(join(group, 'pids.max'), '0'));
  for (const pid of readGroupFile(join(group, 'cgroup.procs')).split('\n').filter(Boolean)) {
    isDone(() => killOne(Number(pid)));
  }
}

/** Whether the system let it be done. */
export function isDone(act: () => void): boolean {
  return unlessRefused(() => {
    act();
    return true;
  }, false);
}

/** Groups are made below those of this process, which stay as they are. */
function lookForGroupsV1(facts: OwnGroupFacts, controllers: readonly string[]): GroupPlaceLook {
  const directories = new Map<string, string>();
  for (const controller of controllers) {
    const directory = ownGroupDirectory(facts, controller);
    if (directory === null) return none(`no hierarchy of control groups of version 1 has ${controller}`);
    try {
      accessSync(directory, constants.W_OK);
    } catch (error) {
      return none(refusedBy(error, directory));
    }
    directories.set(controller, directory);
  }
  return { kind: 'ahead', place: { enter: () => ({ kind: 'found', place: makerIn(directories) }) } };
}

/** Nothing is arranged for it, so nothing is to be given back. */
function makerIn(directories: ReadonlyMap<string, string>): GroupMaker {
  return {
    make: (limits) => {
      for (const directory of new Set(directories.values())) removeAbandoned(directory);
      return makeGroup(directories, limits);
    },
    leave: () => {},
  };
}

function makeGroup(directories: ReadonlyMap<string, string>, limits: GroupLimits): ReturnType<GroupMaker['make']> {
  const groups = new Map<string, string>();
  const fileOf = (name: string): string => join(groups.get(name.split('.')[0] ?? '') ?? '', name);
  const isMade = isDone(() => {
    for (const [controller, directory] of directories) {
      groups.set(controller, mkdtempSync(join(directory, groupPrefix('launches'))));
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

/** What bounds memory and swap together is missing where the kernel does not count swap: without swap, nothing is lost. */
function mayBeLeftOut(file: string): boolean {
  if (!file.endsWith('/memory.memsw.limit_in_bytes') || existsSync(file)) return false;
  return /^SwapTotal:\s+0 kB$/m.test(readFileSync('/proc/meminfo', 'latin1'));
}
