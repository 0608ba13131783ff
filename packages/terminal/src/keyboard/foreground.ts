/** Finds out whether the terminal is this process's to read and to change. */

import { processStat } from '@svc/kit/process-stat.ts';

/**
 * Whether the group of this process is the one that its terminal listens to. The kernel stops a process of another group that reads the
 * terminal or changes its modes. Where there is no /proc, it is taken to be.
 */
export function isInForeground(): boolean {
  const [, , group, , , foreground] = processStat('self');
  // -1: the terminal, if there is one at all, does not control this process.
  return group === undefined || foreground === undefined || foreground === '-1' || foreground === group;
}
