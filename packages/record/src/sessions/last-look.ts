/** Notes when a workspace was last looked through for journals beyond what is kept, so that not each short session does it again. */

import { readdirSync, writeFileSync } from 'node:fs';

import type { Clock } from '@svc/kit/clock.ts';
import { isObjectOf, isWhole } from '@svc/kit/guards.ts';
import { readTextBeneath } from '@svc/kit/files/read-beneath.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { TemporaryFile } from '@svc/kit/files/replace-file.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { isSessionId } from '@svc/protocol/ids.ts';

/** `trace.keep` of a manifest: how many journals, how many seconds since they were last written, how many bytes of all of them. */
export interface KeptJournals {
  readonly sessions: number;
  readonly age: number;
  readonly bytes: number;
}

/** What the last look found. */
export interface LastLook {
  /** Unix milliseconds. */
  readonly at: number;
  readonly keep: KeptJournals;
  /** Folders of sessions that there were, and those of them that still had a journal afterwards. */
  readonly names: number;
  readonly journals: number;
}

const isLastLook = isObjectOf({
  at: isWhole,
  keep: isObjectOf({ sessions: isWhole, age: isWhole, bytes: isWhole }),
  names: isWhole,
  journals: isWhole,
});

export const stateFolder = '.svc';
export const sessionsFolder = '.svc/sessions';
const lookFile = 'last-look.json';

/** So long ages and bytes may be beyond what is kept, and so much more, of ten, the number of journals. */
const restMs = 3_600_000;
const partBeyond = 10;

/** Replaces the note in the folder `.svc`. Throws what the operating system refuses. */
export function noteLook(state: HeldDirectory, look: LastLook): void {
  const file = new TemporaryFile(state.path, 0o600);
  try {
    writeFileSync(file.fd, JSON.stringify(look));
    file.keepAs(state.entry(lookFile));
  } finally {
    file.close();
  }
}

/** Whether a workspace has other sessions than the one that asks. */
export function hasOtherSessions(root: string): boolean {
  return sessionsIn(root) > 1;
}

/**
 * Whether a session that ends before it has looked for journals beyond `keep` has to do it now (docs/journal.md "How long journals stay"): not while
 * the last look was within an hour, for the same `keep`, and at most a tenth more than its sessions can have a journal.
 */
export function isLookDue(root: string, keep: KeptJournals, { now }: Pick<Clock, 'now'>): boolean {
  const names = sessionsIn(root);
  if (names <= 1) return false;
  const last = lastLook(root);
  if (last === null || names < last.names) return true;
  const { sessions, age, bytes } = last.keep;
  if (sessions !== keep.sessions || age !== keep.age || bytes !== keep.bytes) return true;
  const sinceMs = now() - last.at;
  if (sinceMs < 0 || sinceMs >= restMs) return true;
  return last.journals + names - last.names > keep.sessions + Math.floor(keep.sessions / partBeyond);
}

function sessionsIn(root: string): number {
  return unlessRefused(() => readdirSync(`${root}/${sessionsFolder}`), []).filter(isSessionId).length;
}

/** Returns null for a note that is missing or damaged. */
function lastLook(root: string): LastLook | null {
  const reading = readTextBeneath(root, `${stateFolder}/${lookFile}`);
  if (reading.kind !== 'text') return null;
  try {
    const found: unknown = JSON.parse(reading.text);
    return isLastLook(found) ? found : null;
  } catch {
    return null;
  }
}
