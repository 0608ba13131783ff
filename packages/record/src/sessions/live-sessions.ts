/** Says whether the session of a folder may still run, and when what stands in a folder was last written. */

import { lstatSync, readdirSync } from 'node:fs';

import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { isJournalHeld } from './journal-holder.ts';
import { journalFile } from '../journal/journal-writer.ts';
import { traceFile } from './recorded-sessions.ts';
import { thisUser } from './recorded-process.ts';

export const sessionsFolder = '.svc/sessions';

/** Children of children and so on; delegation ends far above. */
const deepest = 16;

/** Whether the session or one that it delegated to may run; `running` are the ids of those that are listed. */
export function mayRun(session: HeldDirectory, running: ReadonlySet<string>, nowMs: number, level = 0): boolean {
  if (level > deepest || isJournalHeld(session, nowMs)) return true;
  return childrenOf(session).some(({ id, path }) => {
    if (running.has(id)) return true;
    const child = unlessRefused(() => session.below(path), null);
    if (child === null) return false;
    try {
      return mayRun(child, running, nowMs, level + 1);
    } finally {
      child.close();
    }
  });
}

/** The sessions that a session delegated to, by their paths below its folder. */
export function childrenOf(session: HeldDirectory): readonly { readonly id: string; readonly path: string }[] {
  return namesBelow(session, 'children').flatMap((child) => {
    const folder = `children/${child}/${sessionsFolder}`;
    return namesBelow(session, folder)
      .filter(isSessionId)
      .map((id) => ({ id, path: `${folder}/${id}` }));
  });
}

function namesBelow(from: HeldDirectory, path: string): readonly string[] {
  const directory = unlessRefused(() => from.below(path), null);
  if (directory === null) return [];
  try {
    return unlessRefused(() => readdirSync(directory.path), []);
  } finally {
    directory.close();
  }
}

/** Unix milliseconds of the last write to the record of a session. */
export function lastWrite(session: HeldDirectory): number {
  return Math.max(...['.', traceFile, journalFile].map((name) => writtenAt(session, name)));
}

/** Unix milliseconds at which what stands under a name was last written; 0 where nothing stands there. */
export function writtenAt(directory: HeldDirectory, name: string): number {
  const stat = unlessRefused(() => lstatSync(directory.entry(name)), null);
  return stat === null ? 0 : Math.floor(stat.mtimeMs);
}

/** Whether a folder or a file of this user stands under a name: no link. */
export function ownEntry(directory: HeldDirectory, name: string): boolean {
  const stat = unlessRefused(() => lstatSync(directory.entry(name)), null);
  const isOwn = stat !== null && (thisUser() === null || stat.uid === thisUser());
  return isOwn && (stat.isDirectory() || stat.isFile());
}
