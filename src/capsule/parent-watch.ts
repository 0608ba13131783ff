import { readFileSync } from 'node:fs';

import { isAlive, processStart } from './running-record.ts';

const intervalMs = 500;

/**
 * Calls `onGone` once the process that started this one has ended, however it ended: a child does not outlive its parent. Returns what
 * ends the watch. It keeps no process up.
 */
export function watchParent(pid: number, onGone: () => void): () => void {
  const parent = { pid, process_start: processStart(pid) };
  const isDirect = process.ppid === pid;
  const timer = setInterval(() => {
    // Without /proc, or where nobody has buried it yet, the system at least gives an orphan another parent.
    if (isAlive(parent) && !isZombie(pid) && !(isDirect && process.ppid !== pid)) return;
    clearInterval(timer);
    onGone();
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return /^ [ZX]/.test(stat.slice(stat.lastIndexOf(')') + 1));
  } catch {
    // No /proc here, or the process has just gone: the next look tells.
    return false;
  }
}
