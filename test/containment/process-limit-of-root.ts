import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ownGroupDirectory } from '../../src/containment/control-group.ts';

export function cgroupFacts(): { readonly membership: string; readonly mounts: string } {
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  return { membership: read('/proc/self/cgroup'), mounts: read('/proc/self/mountinfo') };
}

/**
 * Whether `svc`, started as root among other processes, bounds the number of processes: the kernel exempts root from the limit, and a
 * group for it can be made beside others only below the root of all groups.
 */
export function rootIsBounded(): boolean {
  const directory = ownGroupDirectory(cgroupFacts());
  if (directory === null || existsSync(join(directory, 'cgroup.events'))) return false;
  return /\bpids\b/.test(readFileSync(join(directory, 'cgroup.controllers'), 'latin1'));
}
