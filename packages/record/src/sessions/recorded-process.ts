/** Says of a process that a file names whether it may run, be it one of this system or of another container or machine. */

import { readFileSync, readlinkSync, utimesSync } from 'node:fs';

import type { Clock } from '@svc/kit/clock.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { isAlive, processStart } from '@svc/kit/process-stat.ts';

/** Where the number of a process has a meaning; null if the system does not say, absent in files of older versions. */
export interface ProcessPlace {
  /** The kernel since its last start. */
  readonly boot?: string | null | undefined;
  readonly pid_space?: string | null | undefined;
}

/** A process as the file names it that it keeps while it runs. */
export interface RecordedProcess extends ProcessPlace {
  readonly pid: number;
  /** Clock ticks since boot; null if the system does not say. */
  readonly process_start: string | null;
}

/** How often such a file is touched, and after how long without a touch a process that cannot be looked up here has ended. */
export interface Touches {
  readonly eachMs: number;
  readonly maxSilenceMs: number;
}

/** For files that nobody waits for. */
export const rareTouches: Touches = { eachMs: 3_600_000, maxSilenceMs: 24 * 3_600_000 };

export function thisProcess(): RecordedProcess {
  return { pid: process.pid, process_start: processStart(process.pid), ...placeHere() };
}

/** The user of this process, whose files it reads and removes; null where the system has no users. */
export function thisUser(): number | null {
  return process.geteuid?.() ?? null;
}

let here: Required<ProcessPlace> | null = null;

/** Returns the place of this process, which never changes. */
export function placeHere(): Required<ProcessPlace> {
  here ??= {
    boot: unlessRefused(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(), null),
    pid_space: unlessRefused(() => readlinkSync('/proc/self/ns/pid'), null),
  };
  return here;
}

/** Whether a process of that place can be looked up here; one that no place is known of is taken for one of here. */
export function isOfHere({ boot, pid_space: space }: ProcessPlace): boolean {
  if (boot === undefined || space === undefined) return true;
  const { boot: ownBoot, pid_space: ownSpace } = placeHere();
  return boot === ownBoot && space === ownSpace;
}

/** Whether the process may run; `silentMs` is how long its file has not been touched. */
export function mayRun(recorded: RecordedProcess, silentMs: number, { maxSilenceMs }: Touches): boolean {
  return isOfHere(recorded) ? isAlive(recorded.pid, recorded.process_start) : silentMs < maxSilenceMs;
}

/** Touches the file of this process from time to time, until the returned function is called. */
export function keepTouched(path: string, clock: Pick<Clock, 'now' | 'after'>, { eachMs }: Touches): () => void {
  let cancelTimer = (): void => {};
  const touchLater = (): void => {
    cancelTimer = clock.after(eachMs, () => {
      const now = clock.now() / 1000;
      unlessRefused(() => utimesSync(path, now, now), undefined);
      touchLater();
    });
  };
  touchLater();
  return () => cancelTimer();
}
