/** What a process and everything it started take, as `/proc` tells it. */
import { readdirSync } from 'node:fs';

import { readGroupFile as readIfThere, isDone } from './group-files.ts';

export interface TreeSum {
  /** What the kernel counts against a limit on processes. */
  readonly threads: number;
  /** Private memory: what is shared is counted for nobody. */
  readonly anonymousBytes: number;
}

/** No limit lets more be there; a host whose limits are higher is not looked at for longer than this takes. */
const mostProcesses = 4096;

/** A process that ends meanwhile counts as gone, with what it leaves to others: the next look finds that below process 1 of its namespace. */
export function sumOfTree(root: number): TreeSum {
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
