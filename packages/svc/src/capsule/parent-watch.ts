import { isAlive, processStart } from '@svc/kit/process-stat.ts';

const intervalMs = 500;

/**
 * Calls `onGone` once the process that started this one has ended, however it ended: a child does not outlive its parent. Returns what
 * ends the watch. It keeps no process up.
 */
export function watchParent(pid: number, onGone: () => void): () => void {
  const start = processStart(pid);
  const isDirect = process.ppid === pid;
  const timer = setInterval(() => {
    // Without /proc the system at least gives an orphan another parent.
    if (isAlive(pid, start) && !(isDirect && process.ppid !== pid)) return;
    clearInterval(timer);
    onGone();
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
