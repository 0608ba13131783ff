import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';

/** A control group for launches; its limits hold for all processes in it together. */
export interface ControlGroup {
  /** By writing to it a process joins (`native/svc-launch/PLAN.md`, `cgroup`). */
  readonly procs: string;
  /** Ends what is left in the group, and removes it. */
  close(): Promise<void>;
}

/** Limits by the name of their files: `pids.max`. What stands before the dot is the controller. */
export type GroupLimits = Readonly<Record<string, string>>;

/** Makes groups in a place of its own. */
export interface GroupMaker {
  /** Null where the system makes none, or none that a process can join. */
  make(limits: GroupLimits): ControlGroup | null;
  /** Gives the place back as it was, as far as what is left there allows. After the groups that were made are closed. */
  leave(): void;
}

export type GroupPlaceLookup =
  | { readonly kind: 'found'; readonly place: GroupMaker }
  /** A clause for a person: why this process can make no groups with such limits. */
  | { readonly kind: 'none'; readonly obstacle: string };

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

/** Blanks and the like in a path, as mountinfo writes them. */
function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/**
 * Looks whether groups can be made below the group of this process, by making it so: the controllers are handed down to the groups below. A
 * group that does so may hold no process itself, unless it is the root of all, so this one moves into a group of its own below first. Groups
 * that hold other processes too are let be: they are somebody else's to arrange.
 */
export function findGroupPlace(facts: OwnGroupFacts, controllers: readonly string[]): GroupPlaceLookup {
  const directory = ownGroupDirectory(facts);
  if (directory === null) return none('no hierarchy of control groups of version 2 holds this process');
  try {
    const offered = wordsOf(join(directory, 'cgroup.controllers'));
    const missing = controllers.filter((each) => !offered.includes(each));
    if (missing.length > 0) return none(`${missing.join(', ')} cannot be limited below ${directory}`);
    for (const name of ['.', 'cgroup.procs', 'cgroup.subtree_control'])
      accessSync(join(directory, name), constants.W_OK);
    const place = new GroupPlace({ directory, pid: facts.pid });
    return place.enter(controllers) ? { kind: 'found', place } : none(`${directory} holds other processes too`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return none(`${directory} is not this user's to divide: ${code}`);
  }
}

function none(obstacle: string): GroupPlaceLookup {
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

  /** False where other processes are in the way. */
  enter(controllers: readonly string[]): boolean {
    const before = wordsOf(this.#file('cgroup.subtree_control'));
    if (!this.#isRoot()) {
      if (wordsOf(this.#file('cgroup.procs')).join() !== `${this.#pid}`) return false;
      this.#refuge = mkdtempSync(this.#file('svc-runtime-'));
    }
    try {
      if (this.#refuge !== null) write(join(this.#refuge, 'cgroup.procs'), `${this.#pid}`);
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
      return { procs: join(group, 'cgroup.procs'), close: () => removeGroup(group) };
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
      write(this.#file('cgroup.procs'), `${this.#pid}`);
      rmdirSync(this.#refuge);
      this.#refuge = null;
    } catch (error) {
      // A group that could not be removed is in the way. What is left goes with the unit.
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
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

function wordsOf(file: string): readonly string[] {
  return readFileSync(file, 'latin1').split(/\s+/).filter(Boolean);
}

/** These files are there already, take a text in one piece, and some of them cannot be read. */
function write(file: string, text: string): void {
  const descriptor = openSync(file, constants.O_WRONLY);
  try {
    writeSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

const longestRemoval = 100;

/** What is killed takes a moment to be gone, and a group can be removed only then. */
async function removeGroup(group: string): Promise<void> {
  for (let attempt = 0; attempt < longestRemoval; attempt += 1) {
    // Kernels before 5.14 do not have it: then the group goes when what is in it has ended by itself.
    isDone(() => write(join(group, 'cgroup.kill'), '1'));
    if (isDone(() => rmdirSync(group))) return;
    await setTimeout(20);
  }
}

function isDone(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return false;
  }
}
