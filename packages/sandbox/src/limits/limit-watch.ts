/** Looks at the programs of a session while some run: whether a limit kept them from more, and that their memory stays in bounds. */

import { readdirSync } from 'node:fs';

import { supervisors } from '../launch/compose-plan.ts';
import type { LaunchedProcess } from '../launcher.ts';
import type { GroupHits } from '../session-groups.ts';
import { countsApart, type LimitHold, sessionProcesses } from './held-limits.ts';
import type { ResourceLimits } from '../launch/process-grants.ts';
import { readGroupFile as readIfThere, isDone } from '../control-group.ts';

export interface LimitWatchOptions {
  readonly hold: LimitHold;
  readonly resources: ResourceLimits;
  /** Of the session's control groups. */
  readonly groupHits: () => GroupHits;
}

/** Between two looks: the first come soon after a start. Memory is looked at four times a second, the count ever more rarely. */
const [firstMs, memoryMs, rarestMs] = [25, 250, 8000];
const slower = 1.25;

export class LimitWatch {
  readonly #options: LimitWatchOptions;
  readonly #live = new Set<LaunchedProcess>();
  /** Of these, those that had as many processes as one program may. */
  readonly #full = new WeakSet<LaunchedProcess>();
  /** How often looking found the limits of the session reached. */
  readonly #seen = { processes: 0, memory: 0 };
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LimitWatchOptions) {
    this.#options = options;
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
    const { processes, memory } = this.#options.groupHits();
    return { processes: processes + this.#seen.processes, memory: memory + this.#seen.memory };
  }

  #sentences(before: GroupHits, launched: LaunchedProcess): readonly string[] {
    const { resources, hold } = this.#options;
    const now = this.#hits();
    const processes = (most: number, of: string): string =>
      `the limit on processes was reached: ${most} for ${of}, and no more were started`;
    const ended = hold.watchesMemory ? 'all that ran were ended' : 'some that ran were ended';
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
    const { watchesMemory } = this.#options.hold;
    if (!watchesMemory && !this.#isCounted('session') && !this.#isCounted('program')) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#look();
      if (this.#live.size > 0) this.#lookIn(Math.min(ms * slower, watchesMemory ? memoryMs : rarestMs));
    }, ms).unref();
  }

  #look(): void {
    const { hold, resources } = this.#options;
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
    const { limits, users } = this.#options.hold;
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
const mostProcesses = 4096;

/** A process that ends meanwhile counts as gone, with what it leaves to others: the next look finds that below process 1 of its namespace. */
function sumOfTree(root: number): TreeSum {
  const found = new Set<string>([`${root}`]);
  let threads = 0;
  let anonymousBytes = 0;
  for (const pid of found) {
    const status = readIfThere(`/proc/${pid}/status`);
    threads += numberIn(status, 'Threads');
    anonymousBytes += numberIn(status, 'RssAnon') * 1024;
    if (found.size < mostProcesses) for (const child of childrenOf(pid)) found.add(child);
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
  return tasks.flatMap((task) => readIfThere(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean));
}
