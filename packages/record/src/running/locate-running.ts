/** Finds the running capsule that a command line names, and waits for its end. If it has ended already, the error says how to read its session. */

import { basename } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isAlive } from '@svc/kit/process-stat.ts';
import { whenGone } from '@svc/kit/when-gone.ts';
import type { RunningRecord } from '../sessions/running-record.ts';
import { type LocatedCapsule, locateCapsule } from './approach-capsule.ts';
import type { SessionPlaces } from '../sessions/recorded-sessions.ts';
import { suffixOf } from '../sessions/session-names.ts';

/** As `locateCapsule`. For a session of this workspace that has ended, or a task without a manifest, `E-RUN-026` says that it has ended. */
export async function locateRunning(places: SessionPlaces, wanted: string | undefined): Promise<LocatedCapsule> {
  try {
    return locateCapsule(places.home, wanted);
  } catch (error) {
    if (!(error instanceof Diagnostic) || error.code !== 'E-RUN-026' || wanted === undefined) throw error;
    throw (await hasEnded(places, wanted)) ?? error;
  }
}

/** Returns null if no recorded session fits, or more than one does. */
async function hasEnded(places: SessionPlaces, wanted: string): Promise<Diagnostic | null> {
  const { folderOfSession, holdSession, isUnstarted, matching, sessionIds, unstartedHint, usualManifest } =
    await import('../sessions/recorded-sessions.ts');
  const name = basename(wanted);
  const folder = folderOfSession(places, { manifest: usualManifest }, name);
  const ids = sessionIds(folder);
  const [id, ...others] = matching(ids, name);
  if (id === undefined || others.length > 0) return null;
  const directory = holdSession(folder, id);
  const isStarted = !isUnstarted(directory);
  directory.close();
  if (!isStarted)
    return new Diagnostic('E-RUN-026', `the session ${id} never started`, { hint: unstartedHint(suffixOf(id, ids)) });
  return new Diagnostic('E-RUN-026', `the session ${id} has ended`, {
    hint: `svc chat ${suffixOf(id, ids)} goes on with it, svc trace show ${suffixOf(id, ids)} reads it; svc ps lists the running ones`,
  });
}

/** The last output of a process may still be on its way when it has ended. */
const lastWordsMs = 500;

/** Calls `onEnded` once the process of a capsule of this machine has ended. Returns a function that ends the watch. */
export function whenEnded(
  { pid, process_start: start }: Pick<RunningRecord, 'pid' | 'process_start'>,
  onEnded: () => void,
): () => void {
  return whenGone(() => isAlive(pid, start), onEnded, lastWordsMs);
}
