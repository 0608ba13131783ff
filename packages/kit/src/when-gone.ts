/** Tells when the process of a capsule of this machine has ended. */

import { isAlive } from '@svc/kit/process-stat.ts';
import type { RunningRecord } from '../capsule/running-record.ts';

/** How often it is looked. */
const lookMs = 500;

/** Calls `onGone` once the process has ended. Returns what ends the watch. */
export function whenGone(
  { pid, process_start: start }: Pick<RunningRecord, 'pid' | 'process_start'>,
  onGone: () => void,
): () => void {
  const timer = setInterval(() => {
    if (isAlive(pid, start)) return;
    clearInterval(timer);
    // What it wrote last may still be on its way.
    setTimeout(onGone, lookMs).unref();
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}
