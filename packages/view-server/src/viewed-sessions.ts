/** The sessions that one `svc view` shows, and no others: those of a workspace with their children, or one that was opened. */

import { existsSync, realpathSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { makeScratch, removeScratch } from '@svc/kit/files/scratch-folder.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { readRunningRecords } from '@svc/record/sessions/running-record.ts';
import { childrenOf } from '@svc/record/sessions/live-sessions.ts';
import {
  folderOfSession,
  locateSession,
  sessionIds,
  sessionsFolders,
  startOfSession,
  type WorkspaceOption,
  type SessionPlaces,
} from '@svc/record/sessions/recorded-sessions.ts';
import type { SessionFacts } from '@svc/record/sessions/session-facts.ts';
import { unpackExport } from '@svc/record/sessions/unpack-export.ts';
import { MadeTraces } from './made-traces.ts';
import { TraceFileSession } from './trace-file-session.ts';
import { FolderSession, usualWorkdir, type ViewedSession, withReader, type WorkdirPlace } from './viewed-session.ts';

/** As `svc sessions --json` has them, newest first; and how many older ones there are. */
interface SessionRows {
  readonly rows: readonly SessionFacts[];
  readonly more: number;
}

export interface ViewedSessions {
  /** The session that is to be shown first; null for the list. */
  readonly first: string | null;
  list(): Promise<SessionRows>;
  /** Returns null where the id is of none of them. */
  find(id: string): ViewedSession | null;
  close(): void;
}

/** Opens what is named: an id or the end of one, the path of a session folder, of a trace, or of an export; without a name the sessions of the workspace. */
export async function openViewed(
  places: SessionPlaces,
  wanted: string | undefined,
  options: WorkspaceOption,
): Promise<ViewedSessions> {
  const path = wanted === undefined ? null : pathOf(places, wanted);
  if (path !== null) return await openPath(path, places.home);
  if (wanted === undefined) return new WorkspaceSessions(sessionsFolders(places, options), places.home, null);
  const folder = folderOfSession(places, options, wanted);
  try {
    return new WorkspaceSessions([folder], places.home, locateSession(folder, wanted));
  } catch (error) {
    const running = runningElsewhere(places.home, wanted);
    if (running === null || !(error instanceof Diagnostic) || error.code !== 'E-RUN-070') throw error;
    return new WorkspaceSessions([dirname(running)], places.home, basename(running));
  }
}

/** The folder of the one running session that is meant; null unless exactly one is, and says where. */
function runningElsewhere(home: string, wanted: string): string | null {
  const suffix = wanted.replace(/^…/, '');
  const matches = readRunningRecords(home).filter(({ session_id: id }) => id.endsWith(suffix));
  const [match] = matches;
  const folder = matches.length === 1 ? (match?.session_directory ?? null) : null;
  return folder !== null && isSessionId(basename(folder)) ? folder : null;
}

/** The path that is meant; null for what is the end of an id. */
function pathOf({ cwd }: SessionPlaces, wanted: string): string | null {
  if (!wanted.includes('/') && !/\.(?:zip|jsonl)$/.test(wanted) && !/^\.{1,2}$/.test(wanted)) return null;
  const path = resolve(cwd, wanted);
  if (existsSync(path)) return path;
  throw new Diagnostic('E-RUN-070', `there is nothing at ${path}`, {
    hint: 'svc sessions lists the sessions of this workspace; a trace and an export are named by their paths',
  });
}

async function openPath(path: string, home: string): Promise<ViewedSessions> {
  const made = new MadeTraces();
  if (statSync(path).isDirectory()) return new OneSession(folderAt(realpathSync(path), home, made), () => made.close());
  if (!path.endsWith('.zip')) return new OneSession(new TraceFileSession(path));
  const unpacked = makeScratch(tmpdir(), 'svc-trace-');
  const remove = (): void => {
    made.close();
    removeScratch(unpacked);
  };
  try {
    await unpackExport(path, unpacked);
    return new OneSession(folderAt(unpacked, home, made), remove);
  } catch (error) {
    remove();
    throw error;
  }
}

/** The address of a session that does not say its own. */
const namelessId = 'ses_00000000000000000000000000000000';

/** A folder that was copied or unpacked: its record says which session it is. */
function folderAt(path: string, home: string, made: MadeTraces): ViewedSession {
  const hold = (): HeldDirectory => HeldDirectory.at(path);
  const [own, sessions] = [basename(path), dirname(path)];
  if (isSessionId(own) && basename(sessions) === 'sessions') {
    const workdir = (): WorkdirPlace | null => usualWorkdir(sessions, own);
    return new FolderSession({ id: own, home, place: path, hold, made, usualWorkdir: workdir });
  }
  const copy = { home, place: null, hold, usualWorkdir: () => null };
  const nameless = new FolderSession({ ...copy, id: namelessId });
  if (!hasRecord(nameless)) {
    throw new Diagnostic('E-RUN-070', `${path} has neither a trace nor a journal of a session`, {
      hint: 'name the folder of one session; without a name svc view shows all of this workspace',
    });
  }
  const named = withReader(nameless, (reader) => reader.opening()?.open.session ?? '') ?? '';
  return isSessionId(named) ? new FolderSession({ ...copy, id: named, made }) : nameless;
}

/** Throws where one is there and cannot be read. */
function hasRecord(session: ViewedSession): boolean {
  const [trace, journal] = [session.openTrace(), session.openJournal()];
  trace?.close();
  journal?.close();
  return trace !== null || journal !== null;
}

/** A session that was opened by its path. */
class OneSession implements ViewedSessions {
  readonly first: string;
  readonly #session: ViewedSession;
  readonly #rows = new KeptRows();
  readonly #onClose: () => void;

  constructor(session: ViewedSession, onClose: () => void = () => {}) {
    this.#session = session;
    this.first = session.id;
    this.#onClose = onClose;
  }

  async list(): Promise<SessionRows> {
    return { rows: [await this.#rows.of(this.#session)], more: 0 };
  }

  find(id: string): ViewedSession | null {
    return id === this.first ? this.#session : null;
  }

  close(): void {
    this.#onClose();
  }
}

/** The newest ones that are listed. */
const maxListed = 500;
/** Folders of children that are looked at for one. */
const maxLooked = 20_000;
const deepest = 16;
/** Pause between two searches for a child that is not known. */
const searchMs = 1000;

/** Reading a trace whole for its row takes at most this part of the time: a page may ask as often as it likes. */
const restEach = 20;

/** Rows of sessions as they were read last, for as long as that is good enough. */
class KeptRows {
  readonly #rows = new Map<string, { readonly row: SessionFacts; readonly untilMs: number }>();
  readonly #reading = new Map<string, Promise<SessionFacts>>();

  /** Returns the facts of a session. A session that is being read is not read twice at once. */
  async of(session: ViewedSession): Promise<SessionFacts> {
    const kept = this.#rows.get(session.id);
    if (kept !== undefined && systemClock.monotonicMs() < kept.untilMs) return kept.row;
    const reading = this.#reading.get(session.id) ?? this.#read(session);
    this.#reading.set(session.id, reading);
    return await reading.finally(() => this.#reading.delete(session.id));
  }

  async #read(session: ViewedSession): Promise<SessionFacts> {
    const nowMs = systemClock.monotonicMs();
    const row = await session.row();
    // A session that has crashed may be resumed, and one that has not started may yet start.
    const isOver = !['running', 'crashed', 'not-started'].includes(row.status);
    const restMs = (systemClock.monotonicMs() - nowMs) * restEach;
    this.#rows.set(session.id, { row, untilMs: isOver ? Infinity : nowMs + restMs });
    return row;
  }
}

/** A child by its folders: from the sessions of the workspace down to its own. */
interface Child {
  /** The folder of the sessions. */
  readonly folder: string;
  /** Below that folder. */
  readonly path: string;
  /** Where it works, unless its parent's workdir is not known. */
  readonly workdir: WorkdirPlace | null;
}

/** The sessions of a workspace; their children, which lie in their folders, are found by their ids. */
export class WorkspaceSessions implements ViewedSessions {
  readonly first: string | null;
  readonly #folders: readonly string[];
  readonly #home: string;
  #children = new Map<string, Child>();
  #searchedMs = -searchMs;
  readonly #rows = new KeptRows();
  readonly #made = new MadeTraces();
  /** When sessions began, which does not change. */
  readonly #starts = new Map<string, number>();

  constructor(folders: readonly string[], home: string, first: string | null) {
    this.#folders = folders;
    this.#home = home;
    this.first = first;
  }

  async list(): Promise<SessionRows> {
    const newest = this.#folders
      .flatMap((folder) => sessionIds(folder).map((id) => ({ id, at: this.#startOf(folder, id) })))
      .toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
    const rows: SessionFacts[] = [];
    for (const { id } of newest.slice(0, maxListed)) {
      const row = await this.#rowOf(id);
      if (row !== null) rows.push(row);
      await yieldToLoop();
    }
    return { rows, more: Math.max(0, newest.length - maxListed) };
  }

  find(id: string): ViewedSession | null {
    if (!isSessionId(id)) return null;
    const folder = this.#folders.find((each) => existsSync(join(each, id)));
    if (folder !== undefined) return this.#session(id, { folder, path: id, workdir: usualWorkdir(folder, id) });
    if (!this.#children.has(id)) this.#search();
    const child = this.#children.get(id);
    return child === undefined ? null : this.#session(id, child);
  }

  close(): void {
    this.#made.close();
  }

  #startOf(folder: string, id: string): number {
    const at = this.#starts.get(id) ?? startOfSession(folder, id);
    if (at !== 0) this.#starts.set(id, at);
    return at;
  }

  /** Returns null for one that cannot be read, which does not keep the others from being listed. */
  async #rowOf(id: string): Promise<SessionFacts | null> {
    try {
      const session = this.find(id);
      return session === null ? null : await this.#rows.of(session);
    } catch (error) {
      if (error instanceof Diagnostic) return null;
      throw error;
    }
  }

  #session(id: string, { folder, path, workdir }: Child): ViewedSession {
    const hold = (): HeldDirectory => {
      const sessions = HeldDirectory.at(folder);
      try {
        return sessions.below(path);
      } finally {
        sessions.close();
      }
    };
    const place = join(folder, path);
    return new FolderSession({ id, home: this.#home, place, hold, made: this.#made, usualWorkdir: () => workdir });
  }

  /** Goes through the folders of all children again, unless it has just done so. */
  #search(): void {
    const nowMs = systemClock.monotonicMs();
    if (nowMs - this.#searchedMs < searchMs) return;
    this.#searchedMs = nowMs;
    const found = new Map<string, Child>();
    let left = maxLooked;
    for (const folder of this.#folders) left -= searchBelow(folder, found, left);
    this.#children = found;
  }
}

/** Adds the children of the sessions in a folder. Looks into so many folders at most, and returns into how many it has. */
function searchBelow(folder: string, found: Map<string, Child>, most: number): number {
  const pending: (Child & { readonly depth: number })[] = sessionIds(folder).map((id) => ({
    folder,
    path: id,
    workdir: usualWorkdir(folder, id),
    depth: 0,
  }));
  let looked = 0;
  const sessions = unlessRefused(() => HeldDirectory.at(folder), null);
  if (sessions === null) return looked;
  while (looked < most) {
    const parent = pending.pop();
    if (parent === undefined) break;
    looked += 1;
    const directory = unlessRefused(() => sessions.below(parent.path), null);
    if (directory === null) continue;
    for (const { id, path } of childrenOf(directory)) {
      const [, name = ''] = path.split('/');
      const workdir =
        parent.workdir === null
          ? null
          : { root: parent.workdir.root, below: join(parent.workdir.below, '.svc', 'children', name) };
      const child = { folder, path: `${parent.path}/${path}`, workdir };
      if (!found.has(id)) found.set(id, child);
      if (parent.depth < deepest) pending.push({ ...child, depth: parent.depth + 1 });
    }
    directory.close();
  }
  sessions.close();
  return looked;
}
