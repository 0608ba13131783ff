/** Says beside a journal which process writes it, so that nobody takes the journal of a session that runs away. */

import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Clock } from '@svc/kit/clock.ts';
import { type Guarded, isObjectOf, isText, isWhole, orNull } from '@svc/kit/guards.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { keepTouched, mayRun, rareTouches, thisProcess } from './recorded-process.ts';
import { removeIfPossible } from './running-record.ts';

export const holderFile = 'journal.holder';

const isHolder = isObjectOf({
  pid: (value): value is number => isWhole(value) && value >= 1,
  process_start: orNull(isText),
  boot: orNull(isText),
  pid_space: orNull(isText),
});

const maxHolder = 4096;

/**
 * Writes the holder of a session's journal, before there is a journal, and touches it every hour. Throws what the operating system refuses.
 * The returned function takes it away.
 */
export function holdJournal(directory: string, clock: Pick<Clock, 'now' | 'after'>): () => void {
  const path = join(directory, holderFile);
  writeHolder(path, `${JSON.stringify(thisProcess())}\n`);
  const stopTouching = keepTouched(path, clock, rareTouches);
  return () => {
    stopTouching();
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
    const silentMs = now - fstatSync(found.fd).mtimeMs;
    const holder = parseHolder(readFileUpTo(found.fd, maxHolder) ?? Buffer.alloc(0));
    return holder === null ? silentMs < rareTouches.maxSilenceMs : mayRun(holder, silentMs, rareTouches);
  } finally {
    closeSync(found.fd);
  }
}

/** Returns null for one that is only being written, or that a full disk cut off. */
function parseHolder(bytes: Buffer): Guarded<typeof isHolder> | null {
  try {
    const holder: unknown = JSON.parse(bytes.toString('utf8'));
    return isHolder(holder) ? holder : null;
  } catch {
    return null;
  }
}
