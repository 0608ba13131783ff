/** Checks whether a process has ended. */

import { readFileSync } from 'node:fs';

import { unlessErrno } from '@svc/kit/files/unless-refused.ts';

/** True once nobody has this process id any more. */
export function isGone(pid: unknown): boolean {
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch {
    return true;
  }
}

/** Whether a process still runs: one that is over and that its parent has not looked at yet does not. */
export function isRunning(pid: number | string): boolean {
  // It may go between the opening of the file and the reading.
  const stat = unlessErrno(['ENOENT', 'ESRCH'], () => readFileSync(`/proc/${pid}/stat`, 'utf8'), null);
  return stat !== null && !stat.includes(') Z ');
}
