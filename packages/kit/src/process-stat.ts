/** Asks the kernel which process has a number, and whether it still lives. */

import { readFileSync } from 'node:fs';

/** The fields of `/proc/<pid>/stat` from the state on, its third: the parent is at 1, the start at 19. None where there is no such file. */
export function processStat(pid: number | string): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field holds the command in parentheses, which a process chooses: it may contain anything, parentheses included.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    // No /proc here, or the process has ended.
    return [];
  }
}

/** In clock ticks since boot; null where the system does not show it, or the process is gone. */
export function processStart(pid: number | string): string | null {
  return processStat(pid)[19] ?? null;
}

/**
 * A pid alone may have been given to another process since; its start time distinguishes the two, where the system shows it. One that has ended and that its
 * parent has not waited for yet is not alive, though it can still be signaled.
 */
export function isAlive(pid: number, start: string | null): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives and belongs to someone else.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  const stat = processStat(pid);
  if (stat[0] === 'Z' || stat[0] === 'X') return false;
  return start === null || stat[19] === start;
}
