/** Says beside a journal which process writes it, so that nobody takes the journal of a session that runs away. */

import { closeSync, fstatSync, openSync, readFileSync, readlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';

import type { Clock } from '@svc/kit/clock.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { isAlive, processStart } from '@svc/kit/process-stat.ts';
import { removeIfPossible } from './running-record.ts';

export const holderFile = 'journal.holder';

const holderShape = z.lazy(() =>
  z.object({
    pid: z.int().check(z.gte(1)),
    process_start: z.nullable(z.string()),
    /** The kernel since its last start, and the space in which `pid` has a meaning; null where the system does not tell. */
    boot: z.nullable(z.string()),
    pid_space: z.nullable(z.string()),
  }),
);

const touchedEachMs = 3_600_000;
/** After this long without a touch, a holder that this system cannot look up has ended. */
const longestSilenceMs = 24 * touchedEachMs;
const longestHolder = 4096;

/**
 * Writes the holder of a session's journal, before there is a journal, and touches it every hour. Throws what the operating system refuses.
 * The returned function takes it away.
 */
export function holdJournal(directory: string, clock: Pick<Clock, 'now' | 'after'>): () => void {
  const path = join(directory, holderFile);
  const about = { pid: process.pid, process_start: processStart(process.pid), ...placeOfProcesses() };
  writeHolder(path, `${JSON.stringify(about)}\n`);
  let takeBack = (): void => {};
  const touchLater = (): void => {
    takeBack = clock.after(touchedEachMs, () => {
      const now = clock.now() / 1000;
      unlessRefused(() => utimesSync(path, now, now), undefined);
      touchLater();
    });
  };
  touchLater();
  return () => {
    takeBack();
    removeIfPossible(path);
  };
}

/** What a full disk cut off would be taken for the holder of a session that runs. */
function writeHolder(path: string, text: string): void {
  const fd = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(fd, text);
  } catch (error) {
    removeIfPossible(path);
    throw error;
  } finally {
    closeSync(fd);
  }
}

/**
 * Whether the process that writes the journal of this session may run. That of another machine or container, which this one cannot look up, does as long as
 * the holder was touched within a day.
 */
export function isJournalHeld(directory: HeldDirectory, now: number): boolean {
  const found = unlessRefused(() => directory.openFile(holderFile), null);
  if (found?.kind !== 'file') return false;
  try {
    const mayRun = now - fstatSync(found.fd).mtimeMs < longestSilenceMs;
    const holder = parseHolder(readFileUpTo(found.fd, longestHolder) ?? Buffer.alloc(0));
    if (holder === null) return mayRun;
    const here = placeOfProcesses();
    const isHere = holder.boot === here.boot && holder.pid_space === here.pid_space;
    return isHere ? isAlive(holder.pid, holder.process_start) : mayRun;
  } finally {
    closeSync(found.fd);
  }
}

/** Null for one that is only being written, or that a full disk cut off. */
function parseHolder(bytes: Buffer): z.infer<typeof holderShape> | null {
  try {
    return holderShape.parse(JSON.parse(bytes.toString('utf8')));
  } catch {
    return null;
  }
}

function placeOfProcesses(): { readonly boot: string | null; readonly pid_space: string | null } {
  return {
    boot: unlessRefused(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(), null),
    pid_space: unlessRefused(() => readlinkSync('/proc/self/ns/pid'), null),
  };
}
