/** What this process is told of itself below `/proc`: its control groups, its mounts, its number and its group. */
import { existsSync, readFileSync, readlinkSync } from 'node:fs';

import type { OwnGroupFacts } from './control-group.ts';

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
