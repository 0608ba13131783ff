/** Holds the programs of a session to its limits: by control groups, by user namespaces, and by looking at what runs. */

import { closeSync, readlinkSync, readdirSync } from 'node:fs';

import { systemClock } from '@svc/kit/system-clock.ts';
import { randomBelow } from '@svc/kit/clock.ts';
import type { JoinedGroups } from '../launch/launch-plan.ts';
import type { ResourceLimits } from '../launch/process-grants.ts';
import { type SessionNamespaces, supervisors } from '../launch/compose-plan.ts';
import { openHeldByHelper } from '../pipe-pool.ts';
import type { LaunchedProcess } from '../launcher.ts';
import {
  type ControlGroup,
  type GroupLimits,
  type GroupMaker,
  type GroupVersion,
  type GroupPlaceLookup,
  countOf,
  readGroupFile,
  isDone,
} from './control-group.ts';
import { type LimitHold, sessionProcesses, countsApart } from './held-limits.ts';

/** What the limits of a session are held by on a host. */
export interface LimitMachinery {
  /** Enters the place in which groups of a version with these controllers are made. */
  readonly enterGroups: (version: GroupVersion, controllers: readonly string[]) => GroupPlaceLookup;
  /** The user namespaces of a session; null where the system makes none. */
  readonly keepUsers: (kind: 'mapped' | 'own') => Promise<SessionUsers | null>;
}

/** The user namespaces of a session, open until they are closed. */
interface SessionUsers extends OpenUsers {
  /** The user of programs outside, if it is another. */
  readonly owner: number | null;
}

/** What bounds the programs of one session together. Closing it ends what is left in control groups. */
export interface SessionLimits {
  /** As launches join them. */
  readonly cgroups: JoinedGroups;
  readonly users: SessionUsers | null;
  readonly watch: LimitWatch;
  /** A clause for a person: why nothing may be started, for a limit that was said to hold would not. */
  readonly obstacle: string | null;
  close(): Promise<void>;
}

/** Makes what a session was said to be held by, before its first program is started. */
export async function holdLimits(hold: LimitHold, machinery: LimitMachinery): Promise<SessionLimits> {
  const groups = new SessionGroups();
  // Before anything is started: who has children in its group cannot divide it any more.
  const ungrouped = groups.make(hold, machinery);
  const users = hold.users === null ? null : await machinery.keepUsers(hold.users);
  const unkept = hold.users !== null && users === null ? 'no user namespace can be kept' : null;
  const obstacle = ungrouped ?? unkept;
  return {
    cgroups: groups.joined,
    users,
    watch: new LimitWatch(hold, () => groups.hits()),
    obstacle: obstacle === null ? null : `the limits of this session cannot be held any more: ${obstacle}`,
    close: async () => {
      await groups.close();
      users?.close();
    },
  };
}

/** How often a limit of the groups kept something from happening. */
interface GroupHits {
  readonly processes: number;
  readonly memory: number;
}

/** Groups of one session; none where its limits are held otherwise. */
class SessionGroups {
  readonly #groups: ControlGroup[] = [];
  readonly #places: GroupMaker[] = [];
  #room: JoinedGroups['room'] = null;
  /** The files that say how often a limit of a group was reached. Which of them a group has does not change. */
  readonly #events = { processes: [] as string[], memory: [] as string[] };

  /**
   * Makes the groups that `hold` says. Returns null when they are there, else a clause for a person: then nothing may be started, for what is
   * said of the limits would not be so.
   */
  make({ groups, resources }: LimitHold, { enterGroups }: LimitMachinery): string | null {
    for (const version of ['cgroup-v2', 'cgroup-v1'] as const) {
      const limits = limitsOf(version, groups, resources);
      if (limits === null) continue;
      const found = enterGroups(version, [...new Set(Object.keys(limits).map((name) => name.split('.')[0] ?? ''))]);
      if (found.kind === 'none') return found.obstacle;
      this.#places.push(found.place);
      const group = found.place.make(limits);
      if (group === null) return 'no control group can be made';
      this.#groups.push(group);
      this.#events.processes.push(...pathsIn(group, ['pids.events']));
      this.#events.memory.push(...pathsIn(group, ['memory.events', 'memory.oom_control']));
      const count = group.path('pids.current');
      if (groups.processes === version && count !== null) this.#room = { count, most: sessionProcesses(resources) };
    }
    return null;
  }

  /** As launches join them. */
  get joined(): JoinedGroups {
    return { joins: this.#groups.flatMap(({ joins }) => joins), room: this.#room };
  }

  hits(): GroupHits {
    const sum = (files: readonly string[], word: string): number =>
      files.map((file) => countOf(readGroupFile(file), word)).reduce((a, b) => a + b, 0);
    return { processes: sum(this.#events.processes, 'max'), memory: sum(this.#events.memory, 'oom_kill') };
  }

  /** Ends what is left in the groups. */
  async close(): Promise<void> {
    await Promise.all(this.#groups.splice(0).map((group) => group.close()));
    for (const place of this.#places.splice(0)) place.leave();
  }
}

function pathsIn(group: ControlGroup, names: readonly string[]): readonly string[] {
  return names.map((name) => group.path(name)).filter((path) => path !== null);
}

function limitsOf(version: GroupVersion, held: LimitHold['groups'], resources: ResourceLimits): GroupLimits | null {
  const processes = held.processes === version ? sessionProcesses(resources) : null;
  const memory = held.memory === version ? (resources.session_memory ?? null) : null;
  if (processes === null && memory === null) return null;
  return {
    ...(processes === null ? {} : { 'pids.max': `${processes}` }),
    ...(memory === null ? {} : memoryFiles[version](`${memory}`)),
  };
}

/** In the order in which they are written: memory alone may not be allowed more than together with swap. */
const memoryFiles: Readonly<Record<GroupVersion, (bytes: string) => GroupLimits>> = {
  'cgroup-v2': (bytes) => ({ 'memory.max': bytes, 'memory.swap.max': '0', 'memory.oom.group': '1' }),
  'cgroup-v1': (bytes) => ({ 'memory.limit_in_bytes': bytes, 'memory.memsw.limit_in_bytes': bytes }),
};

export interface UserIdentity {
  readonly uid: number;
  readonly gid: number;
}

/** What launches join, and who they are outside. Open until it is closed. */
export interface OpenUsers {
  readonly users: SessionNamespaces;
  close(): void;
}

/** Numbers that no user and no container is given by anybody: above those that systemd hands out, below the sign bit. */
const [minUnused, maxUnused] = [0x7000_0000, 0x7fff_fffe];

/** Another one for each session, so that two of root cannot signal each other; the one behind it is the session's too. */
export function unusedUser(): number {
  return minUnused + 2 * randomBelow(systemClock, (maxUnused - minUnused) / 2);
}

/**
 * Makes the namespaces: for root, `outside` is an unused number that is 0 inside; an ordinary user stays who it is. Returns null where the system
 * makes none.
 */
export async function keepUsers(
  helper: string,
  { outside, self }: { readonly outside: number; readonly self: UserIdentity },
): Promise<OpenUsers | null> {
  const isMapped = outside !== self.uid;
  const held = await openHeldByHelper({ helper, args: ['users', `${outside}`], ends: isMapped ? [3, 4] : [3] });
  const [programs, mounts] = held.map((descriptor) => `/proc/${readlinkSync('/proc/self')}/fd/${descriptor}`);
  if (programs === undefined) return null;
  const inside = isMapped ? { uid: 0, gid: 0 } : self;
  return {
    users: { programs, mounts: mounts ?? null, ...inside },
    close: () => {
      for (const descriptor of held) closeSync(descriptor);
    },
  };
}

/** Between two looks: the first come soon after a start. Memory is looked at four times a second, the count ever more rarely. */
const [firstMs, memoryMs, rarestMs] = [25, 250, 8000];
const slower = 1.25;

export class LimitWatch {
  readonly #hold: LimitHold;
  /** Returns how often the session's control groups have reached their limits. */
  readonly #groupHits: () => GroupHits;
  readonly #live = new Set<LaunchedProcess>();
  /** The programs of `#live` that had as many processes as one program may have. */
  readonly #full = new WeakSet<LaunchedProcess>();
  /** How often looking found the limits of the session reached. */
  readonly #seen = { processes: 0, memory: 0 };
  #timer: NodeJS.Timeout | undefined;

  constructor(hold: LimitHold, groupHits: () => GroupHits) {
    this.#hold = hold;
    this.#groupHits = groupHits;
  }

  /** The same process, which says after its end what limits were reached from now on. */
  watch(launched: LaunchedProcess): LaunchedProcess {
    const before = this.#hits();
    let reached: readonly string[] = [];
    this.#live.add(launched);
    this.#lookIn(firstMs);
    const ended = launched.ended.then((end) => {
      this.#live.delete(launched);
      if (this.#live.size === 0) clearTimeout(this.#timer);
      reached = this.#sentences(before, launched);
      return end;
    });
    return { ...launched, ended, limitsReached: () => reached };
  }

  #hits(): GroupHits {
    const { processes, memory } = this.#groupHits();
    return { processes: processes + this.#seen.processes, memory: memory + this.#seen.memory };
  }

  #sentences(before: GroupHits, launched: LaunchedProcess): readonly string[] {
    const { resources, watchesMemory } = this.#hold;
    const now = this.#hits();
    const processes = (most: number, of: string): string =>
      `the limit on processes was reached: ${most} for ${of}, and no more were started`;
    const ended = watchesMemory ? 'all that ran were ended' : 'some that ran were ended';
    const memory = `the limit on memory was reached: ${resources.session_memory} bytes for all programs of the session, and ${ended}`;
    return [
      ...(now.processes > before.processes
        ? [processes(sessionProcesses(resources), 'all programs of the session')]
        : []),
      ...(this.#full.has(launched) ? [processes(resources.processes, 'one program and what it starts')] : []),
      ...(now.memory > before.memory ? [memory] : []),
    ];
  }

  #lookIn(ms: number): void {
    const { watchesMemory } = this.#hold;
    if (!watchesMemory && !this.#isCounted('session') && !this.#isCounted('program')) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#look();
      if (this.#live.size > 0) this.#lookIn(Math.min(ms * slower, watchesMemory ? memoryMs : rarestMs));
    }, ms).unref();
  }

  #look(): void {
    const hold = this.#hold;
    const { resources } = hold;
    const around = hold.isSupervised ? supervisors : 0;
    let [threads, bytes] = [0, 0];
    for (const each of this.#live) {
      const sum = sumOfTree(each.pid);
      threads += sum.threads;
      bytes += sum.anonymousBytes;
      if (this.#isCounted('program') && sum.threads >= resources.processes + around) this.#full.add(each);
    }
    const aroundAll = countsApart(hold, resources) ? around * this.#live.size : around;
    if (this.#isCounted('session') && threads >= sessionProcesses(resources) + aroundAll) this.#seen.processes += 1;
    if (!hold.watchesMemory || bytes <= (resources.session_memory ?? Infinity)) return;
    this.#seen.memory += 1;
    for (const each of this.#live) each.kill('SIGKILL');
  }

  /** Counted by the kernel, which reports to nobody that it refused one more process; a control group does. */
  #isCounted(of: 'session' | 'program'): boolean {
    const { limits, users } = this.#hold;
    const limit = limits.find((each) => each.resource === 'processes' && each.of === of);
    if (limit === undefined || limit.max === null) return false;
    return ['user', 'user-namespace'].includes(limit.held_by) || (of === 'session' && users !== null);
  }
}

interface TreeSum {
  /** What the kernel counts against a limit on processes. */
  readonly threads: number;
  /** Private memory: what is shared is counted for nobody. */
  readonly anonymousBytes: number;
}

/** No limit lets more be there; a host whose limits are higher is not looked at for longer than this takes. */
const maxProcesses = 4096;

/** A process that ends meanwhile counts as gone, with what it leaves to others: the next look finds that below process 1 of its namespace. */
function sumOfTree(root: number): TreeSum {
  const found = new Set<string>([`${root}`]);
  let threads = 0;
  let anonymousBytes = 0;
  for (const pid of found) {
    const status = readGroupFile(`/proc/${pid}/status`);
    threads += numberIn(status, 'Threads');
    anonymousBytes += numberIn(status, 'RssAnon') * 1024;
    if (found.size < maxProcesses) for (const child of childrenOf(pid)) found.add(child);
  }
  return { threads, anonymousBytes };
}

function numberIn(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
}

/** Each thread has those that it started. */
function childrenOf(pid: string): readonly string[] {
  let tasks: readonly string[] = [];
  isDone(() => {
    tasks = readdirSync(`/proc/${pid}/task`);
  });
  return tasks.flatMap((task) => readGroupFile(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean));
}
