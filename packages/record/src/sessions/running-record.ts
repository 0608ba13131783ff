/** Keeps a record of each live session, by which other commands find it. */

import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

import type { Clock } from '@svc/kit/clock.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { type Guarded, isObjectOf, isText, isWhole, orNothing, orNull } from '@svc/kit/guards.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { namesIfThere, unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { isOfHere, keepTouched, mayRun, placeHere, type ProcessPlace, rareTouches } from './recorded-process.ts';

const isRecord = isObjectOf({
  session_id: isText,
  url: isText,
  /** `ip:port` the listener is bound to, IPv6 in brackets: a name may lead to somebody else's port. */
  address: isText,
  pid: isWhole,
  /** Clock ticks since boot when the process started; null if the system does not say. */
  process_start: orNull(isText),
  name: isText,
  version: isText,
  workdir: isText,
  /** The directory of its trace, journal and logs; absent in records of older versions. */
  session_directory: orNothing(isText),
  /** That a task without a manifest was given; absent of every other session. */
  project_folder: orNothing(isText),
  started_at_ms: isWhole,
});

const isPlace = isObjectOf({ boot: orNothing(isText), pid_space: orNothing(isText) });

/** What `svc ps`, `svc watch` and `svc stop` know of a live session. Owner-only, one file each. */
export type RunningRecord = Guarded<typeof isRecord>;

function recordsDirectory(home: string): string {
  return join(home, '.svc', 'running');
}

/** Ends the name of the key for approvals, which lies beside a record under the same name. */
export const keySuffix = '.key';

/** Where the record of a session is. */
export function recordPath(home: string, { session_id: id, pid }: RunningRecord): string {
  return join(recordsDirectory(home), `${id}.${pid}.json`);
}

/** As `writeRunningRecord`, and touches it as long as it is there. */
export function listRunning(home: string, record: RunningRecord, clock: Pick<Clock, 'now' | 'after'>): () => void {
  const remove = writeRunningRecord(home, record);
  const stopTouching = keepTouched(recordPath(home, record), clock, rareTouches);
  return () => {
    stopTouching();
    remove();
  };
}

/**
 * Writes the record whole, under a temporary name first. Returns what takes it away again. Its name has the process, too: a session that is started
 * again under its id has a record of its own, which goes neither with the process before it nor with one that finds the old record dead.
 */
export function writeRunningRecord(home: string, record: RunningRecord): () => void {
  const directory = recordsDirectory(home);
  const path = recordPath(home, record);
  try {
    makeDirectories(directory, 0o700);
    replaceFileSync(path, Buffer.from(`${JSON.stringify({ ...record, ...placeHere() })}\n`), {
      mode: 0o600,
      isDurable: false,
    });
  } catch (error) {
    throw ioFault(error, `the session cannot be listed in ${directory}`);
  }
  return () => removeIfPossible(path);
}

function forget(path: string): void {
  removeIfPossible(path);
  removeIfPossible(path.replace(/\.json$/, keySuffix));
}

/** Removes a file; where the system refuses that, the file stays: a record names a dead process then, and the next command that may removes it. */
export function removeIfPossible(path: string): void {
  // Refused where the file system has become read-only, or the directory is another user's.
  unlessRefused(() => rmSync(path, { force: true }), undefined);
}

/**
 * Live sessions of this system, newest first. Records of dead processes are removed on the way; what is no record is passed
 * over, and so are those of another container or machine, whose numbers say nothing here (docs/adr/sessions.md "A lock file names the place of its process").
 */
export function readRunningRecords(home: string): RunningRecord[] {
  const directory = recordsDirectory(home);
  const live: RunningRecord[] = [];
  for (const name of namesIn(directory)) {
    const path = join(directory, name);
    const found = parseRecord(path);
    if (found === null) continue;
    const { record, place, touchedMs } = found;
    if (!mayRun({ ...record, ...place }, systemClock.now() - touchedMs, rareTouches)) forget(path);
    // Under a temporary name it is about to appear under its own.
    else if (name.endsWith('.json') && isOfHere(place)) live.push(record);
  }
  return live.toSorted((a, b) => b.started_at_ms - a.started_at_ms || (a.session_id < b.session_id ? 1 : -1));
}

function namesIn(directory: string): string[] {
  return namesIfThere(directory, `the running sessions in ${directory} cannot be listed`);
}

interface FoundRecord {
  readonly record: RunningRecord;
  readonly place: ProcessPlace;
  readonly touchedMs: number;
}

function parseRecord(path: string): FoundRecord | null {
  try {
    const found: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!isRecord(found) || !isPlace(found) || !isSessionId(found.session_id) || found.pid < 1) return null;
    const { boot, pid_space, ...record } = found;
    return { record, place: { boot, pid_space }, touchedMs: statSync(path).mtimeMs };
  } catch {
    // Gone meanwhile, not readable by this user, or of another version: either way it names no session that can be dealt with.
    return null;
  }
}
