/** Names control groups after the process that makes them, and removes those that a process left behind when it was killed. */

import { readdirSync, readFileSync, readlinkSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

import { processStat } from '@svc/kit/process-stat.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

const ownedName = /^svc-(?:launches|runtime)-(\d+)-(\d+)-(\d+)-\w{6}$/;
const maxRemoved = 256;

/**
 * Returns what the name of a group of this process begins with. The number of the process is not enough: another process may get it later, or have
 * it in another namespace.
 */
export function groupPrefix(kind: 'launches' | 'runtime'): string {
  const { namespace, pid } = self();
  return `svc-${kind}-${namespace}-${pid}-${processStat('self')[startField] ?? '0'}-`;
}

/** Removes the groups of `svc` in a directory whose process has ended. The kernel does not remove a group that still has a process. */
export function removeAbandoned(directory: string): void {
  const own = self().namespace;
  if (own === unknown) return;
  const abandoned = unlessRefused(() => readdirSync(directory), []).filter((name) => {
    const [, namespace, pid = '', start = ''] = ownedName.exec(name) ?? [];
    return namespace === own && !isRunning(pid, start);
  });
  for (const name of abandoned.slice(0, maxRemoved)) unlessRefused(() => rmdirSync(join(directory, name)), undefined);
}

const startField = 19;
const unknown = '0';

/** A process that has ended, and that its parent has not waited for yet, counts as ended: it is in no group any more. */
function isRunning(pid: string, start: string): boolean {
  const stat = processStat(pid);
  return stat[startField] === start && stat[0] !== 'Z' && stat[0] !== 'X';
}

/** When `/proc` belongs to another namespace, it numbers processes in another way. Then both values are `unknown`, and no group is removed. */
function self(): { readonly namespace: string; readonly pid: string } {
  const status = unlessRefused(() => readFileSync('/proc/self/status', 'latin1'), '');
  const pid = /^NSpid:\t(\d+)$/m.exec(status)?.[1];
  const namespace = /\d+/.exec(unlessRefused(() => readlinkSync('/proc/self/ns/pid'), ''))?.[0];
  return pid === undefined || namespace === undefined ? { namespace: unknown, pid: unknown } : { namespace, pid };
}
