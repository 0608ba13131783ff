/** Finds the running capsule that a command line names, and waits for its end. Where it has ended already, says how to read its session. */

import { basename } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isAlive } from '@svc/kit/process-stat.ts';
import { whenGone } from '@svc/kit/when-gone.ts';
import type { RunningRecord } from '../sessions/running-record.ts';
import { type LocatedCapsule, locateCapsule } from './approach-capsule.ts';
import type { SessionPlaces } from '../sessions/recorded-sessions.ts';
import { suffixOf } from '../sessions/session-names.ts';

/** As `locateCapsule`; its `E-RUN-026` says so of a session that is recorded in this workspace, or of a task without a manifest, and has ended. */
export async function locateRunning(places: SessionPlaces, wanted: string | undefined): Promise<LocatedCapsule> {
  try {
    return locateCapsule(places.home, wanted);
  } catch (error) {
    if (!(error instanceof Diagnostic) || error.code !== 'E-RUN-026' || wanted === undefined) throw error;
    throw (await hasEnded(places, wanted)) ?? error;
  }
}

/** Returns null where no recorded session, or more than one, is meant. */
async function hasEnded(places: SessionPlaces, wanted: string): Promise<Diagnostic | null> {
  const { folderOfSession, matching, sessionIds, usualManifest } = await import('../sessions/recorded-sessions.ts');
  const name = basename(wanted);
  const ids = sessionIds(folderOfSession(places, { manifest: usualManifest }, name));
  const [id, ...others] = matching(ids, name);
  if (id === undefined || others.length > 0) return null;
  return new Diagnostic('E-RUN-026', `the session ${id} has ended`, {
    hint: `svc trace show ${suffixOf(id, ids)} reads it; svc ps lists the running ones`,
  });
}

/** What a process wrote last may still be on its way when it has ended. */
const lastWordsMs = 500;

/** Calls `onEnded` once the process of a capsule of this machine has ended. Returns what ends the watch. */
export function whenEnded(
  { pid, process_start: start }: Pick<RunningRecord, 'pid' | 'process_start'>,
  onEnded: () => void,
): () => void {
  return whenGone(() => isAlive(pid, start), onEnded, lastWordsMs);
}
