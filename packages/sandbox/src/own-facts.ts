/** What this process is told of itself below `/proc`: its control groups, its mounts, its number and its group. */

import { existsSync, readFileSync, readlinkSync, readdirSync } from 'node:fs';

import type { OwnGroupFacts } from './control-group.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

/** Empty texts where the system has no such files. */
export function ownGroupFacts(): OwnGroupFacts {
  if (!existsSync('/proc/self/cgroup')) return { pid: 0, membership: '', mounts: '' };
  return {
    pid: Number(readlinkSync('/proc/self')),
    membership: readFileSync('/proc/self/cgroup', 'utf8'),
    mounts: readFileSync('/proc/self/mountinfo', 'utf8'),
  };
}

/** The group by whose number files are made. */
export function ownGroupId(): number {
  return Number(/^Gid:\t\d+\t(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]);
}

/** Threads of all processes of a user, which is what the kernel holds against `RLIMIT_NPROC`. 0 where the system does not tell. */
export function countThreads(uid: number): number {
  let threads = 0;
  for (const name of unlessRefused(() => readdirSync('/proc'), [])) {
    if (/^\d+$/.test(name)) threads += threadsOf(`/proc/${name}/status`, uid);
  }
  return threads;
}

function threadsOf(path: string, uid: number): number {
  // Empty where it has ended meanwhile, or is not ours to see.
  const status = unlessRefused(() => readFileSync(path, 'latin1'), '');
  const owner = /^Uid:\t(\d+)/m.exec(status)?.[1];
  return owner === String(uid) ? Number(/^Threads:\t(\d+)/m.exec(status)?.[1] ?? 1) : 0;
}
