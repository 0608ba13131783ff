/** Finds recorded sessions, by the ways in which people name them. */

import { closeSync, existsSync, fstatSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeScratch, removeScratch } from '@svc/kit/files/scratch-folder.ts';
import { namesIfThere } from '@svc/kit/files/unless-refused.ts';
import { shownMinute } from '@svc/kit/shown-values.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { damaged, JournalReader } from '../journal/journal-reader.ts';
import { LineFile, notOwn, openOwn } from '../journal/line-file.ts';
import type { JournalRecord } from '../journal/records.ts';
import { journalFile, removedFile } from '../journal/journal-writer.ts';
import { thisUser } from './recorded-process.ts';
import { adhocRoot, closedFolderRoot } from './adhoc-root.ts';
import { severalFit, shortestSuffix } from './session-names.ts';
import { unpackExport } from './unpack-export.ts';

/** The option of each command that looks for sessions. */
export interface WorkspaceOption {
  readonly manifest: string;
}

/** The manifest of a command line that names none. */
export const usualManifest = './svc.yaml';
export const traceFile = 'trace.jsonl';

/** Where sessions are looked for: below the folder of a workspace, and in the home of the user. */
export interface SessionPlaces {
  readonly cwd: string;
  readonly home: string;
}

/** The folder in which the sessions of a workspace are recorded, made or not. */
export function workspaceSessions({ cwd }: Pick<SessionPlaces, 'cwd'>, { manifest }: WorkspaceOption): string {
  return join(dirname(resolve(cwd, manifest)), '.svc', 'sessions');
}

/** Where tasks without a manifest are recorded, whatever their folder was. */
export function adhocSessions({ home }: Pick<SessionPlaces, 'home'>): string {
  return join(adhocRoot(home), '.svc', 'sessions');
}

/**
 * The folders with sessions of a workspace: beside its manifest, and in the home where its folder cannot be written in or is given to the capsule. The one that
 * got a session last is the first.
 */
function ownFolders(places: SessionPlaces, options: WorkspaceOption): readonly [string, ...(readonly string[])] {
  const beside = workspaceSessions(places, options);
  const closed = join(closedFolderRoot(places.home, dirname(dirname(beside))), '.svc', 'sessions');
  const madeMs = (folder: string): number => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (!existsSync(closed)) return [beside];
  if (!existsSync(beside)) return [closed];
  return madeMs(closed) < madeMs(beside) ? [beside, closed] : [closed, beside];
}

/** All folders with sessions of the workspace; outside a workspace, that of tasks without a manifest. */
export function sessionsFolders(
  places: SessionPlaces,
  options: WorkspaceOption,
): readonly [string, ...(readonly string[])] {
  const own = ownFolders(places, options);
  const adhoc = adhocSessions(places);
  const isWorkspace = existsSync(own[0]) || existsSync(resolve(places.cwd, options.manifest));
  return isWorkspace || options.manifest !== usualManifest || !existsSync(adhoc) ? own : [adhoc];
}

/** The one of them that got a session last. */
export function sessionsFolder(places: SessionPlaces, options: WorkspaceOption): string {
  return sessionsFolders(places, options)[0];
}

/** The folder of the session that is meant, the newest where none is: that of a task without a manifest is found from everywhere. */
export function folderOfSession(places: SessionPlaces, options: WorkspaceOption, wanted: string | undefined): string {
  const folders = sessionsFolders(places, options);
  if (wanted === undefined) return folders.length === 1 ? folders[0] : (newestOf(folders)?.folder ?? folders[0]);
  const holds = (folder: string): boolean => matching(sessionIds(folder), wanted).length > 0;
  return [...folders, adhocSessions(places)].find(holds) ?? folders[0];
}

/** The newest session in these folders; null where they hold none. */
function newestOf(folders: readonly string[]): { readonly folder: string; readonly id: string } | null {
  const sessions = folders.flatMap((folder) =>
    sessionIds(folder).map((id) => ({ folder, id, at: startOfSession(folder, id) })),
  );
  return sessions.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))[0] ?? null;
}

/** The ids that end as it is wanted. */
export function matching(ids: readonly string[], wanted: string): readonly string[] {
  const suffix = wanted.replace(/^…/, '');
  return suffix.length < shortestSuffix ? [] : ids.filter((id) => id.endsWith(suffix));
}

/** The ids of the sessions in a folder, in no order; none where there is no folder. */
export function sessionIds(folder: string): readonly string[] {
  return namesIfThere(folder, `the sessions in ${folder} cannot be listed`).filter(isSessionId);
}

/** The folder of a session of this user, which the caller closes; `E-RUN-072` for a link, and for a folder of somebody else. */
export function holdSession(folder: string, id: string): HeldDirectory {
  const sessions = HeldDirectory.at(folder);
  try {
    const directory = sessions.enter(id);
    const { uid } = statSync(directory.path);
    if (thisUser() === null || uid === thisUser()) return directory;
    directory.close();
    throw notOwn(`${id} belongs to user ${uid}`);
  } catch (error) {
    throw isObstacle(error) ? notOwn(`${id} is a link or a file`) : ioFault(error, `cannot open the session ${id}`);
  } finally {
    sessions.close();
  }
}

/** Unix milliseconds at which a session began, by its trace or journal; 0 where neither says it. */
export function startOf(directory: HeldDirectory): number {
  for (const [name, shape] of [
    [traceFile, /"timestamp":(\d{1,16})/],
    [journalFile, /"at":(\d{1,16})/],
  ] as const) {
    const fd = openOwn(directory, name, thisUser());
    if (fd === null) continue;
    const file = new LineFile(fd);
    const line = file.readAt(0, 4096).toString('latin1');
    file.close();
    const [, at] = shape.exec(line) ?? [];
    if (at !== undefined) return Number(at);
  }
  return 0;
}

/** Unix milliseconds at which `trace.keep` removed the journal; null where it did not. */
export function removedAt(directory: HeldDirectory): number | null {
  const fd = openOwn(directory, removedFile, thisUser());
  if (fd === null) return null;
  try {
    return Math.floor(fstatSync(fd).mtimeMs);
  } finally {
    closeSync(fd);
  }
}

/** The id of the session of this workspace that is meant. `E-RUN-070` if none fits, `E-RUN-091` when several fit. */
export function locateSession(folder: string, wanted: string | undefined): string {
  if (wanted === undefined) {
    const newest = newestOf([folder]);
    if (newest !== null) return newest.id;
    throw noSession(
      `no session is recorded in ${folder}`,
      'run a capsule there, or name another workspace with --manifest',
    );
  }
  const matches = matching(sessionIds(folder), wanted);
  const [match, another] = matches;
  if (another !== undefined) throw severalFit(wanted, matches);
  if (match === undefined) throw noSession(`no session in ${folder} is ${wanted}`, 'svc trace list lists them');
  return match;
}

/** Unix milliseconds at which a session began; 0 for one that cannot be looked into, which does not keep the others from being found. */
export function startOfSession(folder: string, id: string): number {
  try {
    const directory = holdSession(folder, id);
    try {
      return startOf(directory);
    } finally {
      directory.close();
    }
  } catch (error) {
    if (error instanceof Diagnostic) return 0;
    throw error;
  }
}

function noSession(message: string, hint: string): Diagnostic {
  return new Diagnostic('E-RUN-070', message, {
    hint: `${hint}; a session is named by its id, at least ${shortestSuffix} of its last characters, or a path`,
  });
}

/** A journal that is open for reading. */
export interface OpenJournal {
  /** Names the session in messages. */
  readonly session: string;
  readonly reader: JournalReader;
  readonly directory: HeldDirectory;
  readonly open: JournalRecord<'open'>;
  readonly setup: JournalRecord<'setup'> | null;
  /** `W-RUN-072` when commands of the session could have written its journal. */
  readonly warnings: readonly Diagnostic[];
}

/**
 * Opens the journal of the session that is meant while `use` runs. `E-RUN-071` when it has none, `E-RUN-073` when its first line cannot be read.
 */
export async function withJournal<Value>(
  places: SessionPlaces,
  wanted: string | undefined,
  options: WorkspaceOption,
  use: (journal: OpenJournal) => Promise<Value> | Value,
): Promise<Value> {
  const found = await openFolder(places, wanted, options);
  try {
    const reader = JournalReader.open(found.directory, thisUser());
    if (reader === null)
      throw isUnstarted(found.directory) ? neverStarted(found.name) : noJournal(found.name, removedAt(found.directory));
    try {
      return await use({ ...found, reader, ...beginning(reader, found.name) });
    } finally {
      reader.close();
    }
  } finally {
    found.close();
  }
}

function beginning(reader: JournalReader, name: string): Pick<OpenJournal, 'session' | 'open' | 'setup' | 'warnings'> {
  const opening = reader.opening();
  if (opening === null) {
    const scan = reader.scan();
    scan.records().next();
    throw scan.damage === null ? noJournal(name, null) : damaged(scan.damage);
  }
  const { open, setup } = opening;
  return { session: open.session, open, setup, warnings: open.trusted ? [] : [untrusted(open.session)] };
}

/** `W-RUN-072` */
export function untrusted(session: string): Diagnostic {
  return new Diagnostic('W-RUN-072', `commands of ${session} could have written its journal`, {
    hint: 'it ran with less than scoped containment: do not take this record for proof',
  });
}

/** Whether the start of a session came to nothing: it has a folder, and neither a trace nor a journal. */
export function isUnstarted(directory: HeldDirectory): boolean {
  for (const name of [traceFile, journalFile, removedFile]) {
    const fd = openOwn(directory, name, thisUser());
    if (fd === null) continue;
    closeSync(fd);
    return false;
  }
  return true;
}

/** `E-RUN-071` */
export function neverStarted(name: string): Diagnostic {
  return new Diagnostic('E-RUN-071', `the session ${name} never started`, { hint: unstartedHint(name) });
}

/** What to do about a session that never started. */
export function unstartedHint(id: string): string {
  return `its start failed or was ended, and svc run said why; svc logs ${id} has what its programs wrote`;
}

/** `E-RUN-071`; `removedAtMs` is when `trace.keep` removed it, null where it did not. */
export function noJournal(name: string, removedAtMs: number | null): Diagnostic {
  if (removedAtMs !== null) {
    return new Diagnostic(
      'E-RUN-071',
      `the journal of the session ${name} was removed on ${shownMinute(removedAtMs)}`,
      {
        hint: 'trace.keep of the manifest says how long journals stay; its trace.jsonl is there to be read',
      },
    );
  }
  return new Diagnostic('E-RUN-071', `the session ${name} has no journal`, {
    hint: 'it ran with trace.capture: none, on a disk that was full (W-RUN-063), or under a version of svc that wrote none; its trace.jsonl is there to be read',
  });
}

/** The folder of a session, which the caller closes. */
export interface OpenFolder {
  /** Names the session in messages. */
  readonly name: string;
  readonly directory: HeldDirectory;
  readonly close: () => void;
}

/** Opens the folder of the session that is meant, or of what an export holds. Refusals as of `withJournal`. */
export async function openFolder(
  places: SessionPlaces,
  wanted: string | undefined,
  options: WorkspaceOption,
): Promise<OpenFolder> {
  const path = wanted === undefined ? null : pathOf(places, wanted);
  if (path === null) {
    const folder = folderOfSession(places, options, wanted);
    const id = locateSession(folder, wanted);
    const directory = holdSession(folder, id);
    return { name: id, directory, close: () => directory.close() };
  }
  if (statSync(path).isDirectory()) {
    const directory = HeldDirectory.at(path);
    return { name: path, directory, close: () => directory.close() };
  }
  const unpacked = makeScratch(tmpdir(), 'svc-trace-');
  try {
    await unpackExport(path, unpacked);
    const directory = HeldDirectory.at(unpacked);
    const close = (): void => {
      directory.close();
      removeScratch(unpacked);
    };
    return { name: path, directory, close };
  } catch (error) {
    removeScratch(unpacked);
    throw error;
  }
}

/** The path that is meant; null for what is the end of an id. */
function pathOf({ cwd }: Pick<SessionPlaces, 'cwd'>, wanted: string): string | null {
  if (!wanted.includes('/') && !wanted.endsWith('.zip') && !/^\.{1,2}$/.test(wanted)) return null;
  const path = resolve(cwd, wanted);
  if (!existsSync(path))
    throw noSession(`there is nothing at ${path}`, 'svc trace list lists the sessions of this workspace');
  return path;
}
