/** Finds the processes in which components run. */

import { readdirSync, readFileSync } from 'node:fs';

/** The processes that run components for the process `owner`, or compile them, without the shells that watch over them. */
export function componentProcesses(owner: number = process.pid, script = 'component-process.cjs'): number[] {
  const parents = new Map(pids().map((pid) => [pid, parentOf(pid)]));
  const isComponent = (pid: number): boolean => commandLine(pid).endsWith(`${script}\0`);
  return [...parents].filter(([pid, parent]) => parents.get(parent) === owner && isComponent(pid)).map(([pid]) => pid);
}

function pids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function parentOf(pid: number): number {
  return Number(/\) \S (\d+)/.exec(readOrNothing(`/proc/${pid}/stat`))?.[1] ?? 0);
}

function commandLine(pid: number): string {
  return readOrNothing(`/proc/${pid}/cmdline`);
}

/** A process may be gone since it was listed. */
function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
