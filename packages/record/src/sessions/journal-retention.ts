/** Removes the journals of a workspace that are beyond what is kept, the oldest first. */

import { closeSync, constants, ftruncateSync, lstatSync, statSync, type Stats } from 'node:fs';
import { opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';

import { type Clock, randomBelow } from '@svc/kit/clock.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { TemporaryFile } from '@svc/kit/files/replace-file.ts';
import { isTemporaryName } from '@svc/kit/files/temporary-name.ts';
import { unlessRefused, unlessRefusedLater } from '@svc/kit/files/unless-refused.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { bodiesDirectory, journalFile, removedFile } from '../journal/journal-writer.ts';
import { holderFile, isJournalHeld } from './journal-holder.ts';
import { type KeptJournals, noteLook, sessionsFolder, stateFolder } from './last-look.ts';
import { thisUser } from './recorded-process.ts';
import { readRunningRecords } from './running-record.ts';

export interface RetentionRequest {
  /** Where `.svc/sessions/` lies. */
  readonly root: string;
  readonly keep: KeptJournals;
  /** The user's, whose running records are looked at. */
  readonly home: string;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'randomBytes'>;
  /** Aborted where no more is to be begun. */
  readonly signal: AbortSignal;
}

export interface Retained {
  /** Sessions whose journals are gone, and what they took. */
  readonly removed: number;
  readonly bytes: number;
  /** How many could not be removed: the next session tries again. */
  readonly left: number;
}

/** A run looks at no more folders of sessions, and removes the journals of no more sessions. */
const maxFolders = 10_000;
const maxRemoved = 100;
/** How long the event loop is held at a time. */
const sliceMs = 2;
/** Children of children and so on; delegation ends far above. */
const deepest = 16;

const { O_WRONLY } = constants;

/**
 * Keeps to `keep` (docs/journal.md "How long journals stay"): of sessions that have ended, those of the sessions that they delegated to included, the journal and its bodies are
 * removed and nothing else. Follows no link, touches nothing of another user, and gives other work its turn every few milliseconds. What the system
 * refuses is left. Several may do this at once.
 */
export async function retainJournals(request: RetentionRequest): Promise<Retained> {
  return await new Retention(request).run();
}

/** The journal of one session, or what is left of one whose removal was broken off. */
interface Found {
  /** From the workspace to the folder of the session. */
  readonly path: string;
  readonly bytes: number;
  readonly isBrokenOff: boolean;
}

/** A session with those that it delegated to: they stay and go together. */
interface Family {
  /** Children before their parents: who has a journal has those of its children, or another run removes them. */
  readonly found: Found[];
  isHeld: boolean;
  bytes: number;
  /** Unix milliseconds of the last write. */
  lastAt: number;
}

class Retention {
  readonly #request: RetentionRequest;
  readonly #owner = thisUser();
  readonly #listed: ReadonlySet<string>;
  #looked = 0;
  #sliceEnd: number;

  constructor(request: RetentionRequest) {
    this.#request = request;
    this.#sliceEnd = request.clock.monotonicMs() + sliceMs;
    this.#listed = new Set(readRunningRecords(request.home).map(({ session_id: id }) => id));
  }

  async run(): Promise<Retained> {
    const { root, signal } = this.#request;
    const nothing = { removed: 0, bytes: 0, left: 0 };
    const workspace = unlessRefused(() => HeldDirectory.at(root), null);
    if (workspace === null) return nothing;
    try {
      const { families, names } = await this.#families(workspace);
      const beyond = this.#beyond(families);
      let { removed, bytes, left } = nothing;
      for (const family of beyond.slice(0, maxRemoved)) {
        if (signal.aborted) break;
        const isGone = await this.#removeFamily(workspace, family);
        removed += isGone ? 1 : 0;
        bytes += isGone ? family.bytes : 0;
        left += isGone ? 0 : 1;
      }
      if (!signal.aborted) this.#note(workspace, { names, journals: families.length - removed });
      return { removed, bytes, left };
    } finally {
      workspace.close();
    }
  }

  /** Those to be removed, the oldest first. Those that run count; from the first on that is beyond a limit, no older one is kept. */
  #beyond(families: readonly Family[]): readonly Family[] {
    const { keep, clock } = this.#request;
    const oldest = clock.now() - keep.age * 1000;
    const held = families.filter(({ isHeld }) => isHeld);
    let sessions = held.length;
    let bytes = held.reduce((sum, family) => sum + family.bytes, 0);
    let isFull = false;
    const beyond: Family[] = [];
    const ended = families.filter(({ isHeld }) => !isHeld).toSorted((a, b) => b.lastAt - a.lastAt);
    for (const family of ended) {
      const isBrokenOff = family.found.some((each) => each.isBrokenOff);
      if (!isBrokenOff) {
        sessions += 1;
        bytes += family.bytes;
        isFull ||= sessions > keep.sessions || bytes > keep.bytes || family.lastAt < oldest;
      }
      if (isBrokenOff || isFull) beyond.unshift(family);
    }
    return beyond;
  }

  /** Those with a journal, and how many folders of sessions there are. */
  async #families(workspace: HeldDirectory): Promise<{ readonly families: readonly Family[]; readonly names: number }> {
    const families: Family[] = [];
    const sessions = this.#enter(workspace, sessionsFolder);
    if (sessions === null) return { families, names: 0 };
    try {
      const names = (await this.#namesIn(sessions)).filter(isSessionId);
      for (const name of this.#chosen(names)) {
        if (this.#request.signal.aborted) break;
        const family: Family = { found: [], isHeld: false, bytes: 0, lastAt: 0 };
        await this.#look(sessions, { path: `${sessionsFolder}/${name}`, name, level: 0 }, family);
        if (family.found.length > 0) families.push(family);
      }
      return { families, names: names.length };
    } finally {
      sessions.close();
    }
  }

  /** For the next session that ends before its look is due. Without a note it looks. */
  #note(workspace: HeldDirectory, { names, journals }: { readonly names: number; readonly journals: number }): void {
    const { keep, clock } = this.#request;
    const folder = this.#enter(workspace, stateFolder);
    if (folder === null) return;
    try {
      unlessRefused(() => noteLook(folder, { at: clock.now(), keep, names, journals }), undefined);
    } finally {
      folder.close();
    }
  }

  /** Chooses another part of too many folders each time. */
  #chosen(names: readonly string[]): readonly string[] {
    if (names.length <= maxFolders) return names;
    const start = randomBelow(this.#request.clock, names.length);
    return [...names.slice(start), ...names.slice(0, start)].slice(0, maxFolders);
  }

  /** `sessions` holds the folder of this name. */
  async #look(
    sessions: HeldDirectory,
    { path, name, level }: { readonly path: string; readonly name: string; readonly level: number },
    family: Family,
  ): Promise<void> {
    this.#looked += 1;
    await this.#breathe();
    if (level > deepest || this.#looked > 2 * maxFolders) return;
    const session = this.#enter(sessions, name);
    if (session === null) return;
    try {
      await this.#lookAtChildren(session, { path: `${path}/children`, level: level + 1 }, family);
      const whole = this.#ownFile(session, journalFile);
      const rest = whole === null ? this.#ownFile(session, removedFile) : null;
      const file = whole ?? (rest !== null && rest.size > 0 ? rest : null);
      if (file === null) return;
      const bytes = file.size + (await this.#bodiesSize(session));
      family.found.push({ path, bytes, isBrokenOff: whole === null });
      family.isHeld ||= this.#listed.has(name) || this.#isHeld(session);
      family.bytes += bytes;
      family.lastAt = Math.max(family.lastAt, file.mtimeMs);
    } finally {
      session.close();
    }
  }

  async #lookAtChildren(
    session: HeldDirectory,
    { path, level }: { readonly path: string; readonly level: number },
    family: Family,
  ): Promise<void> {
    const children = this.#enter(session, 'children');
    if (children === null) return;
    try {
      for (const child of await this.#namesIn(children)) {
        const sessions = this.#enter(children, `${child}/${sessionsFolder}`);
        if (sessions === null) continue;
        try {
          for (const name of await this.#namesIn(sessions)) {
            const place = { path: `${path}/${child}/${sessionsFolder}/${name}`, name, level };
            if (isSessionId(name)) await this.#look(sessions, place, family);
          }
        } finally {
          sessions.close();
        }
      }
    } finally {
      children.close();
    }
  }

  #isHeld(session: HeldDirectory): boolean {
    return isThere(session, holderFile) && isJournalHeld(session, this.#request.clock.now());
  }

  async #bodiesSize(session: HeldDirectory): Promise<number> {
    const bodies = this.#enter(session, bodiesDirectory);
    if (bodies === null) return 0;
    try {
      let bytes = 0;
      for await (const name of await namesOf(bodies)) {
        bytes += this.#ownFile(bodies, name)?.size ?? 0;
        await this.#breathe();
      }
      return bytes;
    } finally {
      bodies.close();
    }
  }

  /** Whether all of it is gone. */
  async #removeFamily(workspace: HeldDirectory, { found }: Family): Promise<boolean> {
    let isGone = true;
    for (const { path } of found) {
      const session = this.#enter(workspace, path);
      if (session === null) continue;
      try {
        const removed = async (): Promise<boolean> => {
          await this.#removeJournal(session);
          return true;
        };
        isGone = (await unlessRefusedLater(removed, false)) && isGone;
      } finally {
        session.close();
      }
    }
    return isGone;
  }

  /**
   * The journal gets another name first, under which no reader looks: from then on the session has none, whatever comes. It is emptied when its bodies are gone, so that
   * a run that was killed between is noticed, and the empty file says that there was a journal.
   */
  async #removeJournal(session: HeldDirectory): Promise<void> {
    if (this.#ownFile(session, journalFile) !== null) {
      await unlessGone(rename(session.entry(journalFile), session.entry(removedFile)));
    }
    const bodies = this.#enter(session, bodiesDirectory);
    if (bodies !== null) {
      try {
        for await (const name of await namesOf(bodies)) {
          const isBody = sha256Shape.test(name) || isTemporaryName(name);
          if (isBody && this.#ownFile(bodies, name) !== null) await unlessGone(unlink(bodies.entry(name)));
        }
      } finally {
        bodies.close();
      }
      await rmdir(session.entry(bodiesDirectory)).catch(unlessNotEmpty);
    }
    if (this.#ownFile(session, holderFile) !== null) await unlessGone(unlink(session.entry(holderFile)));
    if ((this.#ownFile(session, removedFile)?.size ?? 0) > 0) empty(session);
  }

  /** A file of this user; null for anything else, and if it is missing. */
  #ownFile(directory: HeldDirectory, name: string): Stats | null {
    const stat = unlessRefused(() => lstatSync(directory.entry(name), { throwIfNoEntry: false }), undefined);
    return stat?.isFile() === true && this.#isOwn(stat) ? stat : null;
  }

  /** A directory of this user, which the caller closes; null for anything else, and for one behind a link. */
  #enter(from: HeldDirectory, path: string): HeldDirectory | null {
    if (!isThere(from, path)) return null;
    const directory = unlessRefused(() => (path.includes('/') ? from.below(path) : from.enter(path)), null);
    if (directory === null || this.#isOwn(statSync(directory.path))) return directory;
    directory.close();
    return null;
  }

  #isOwn({ uid }: Stats): boolean {
    return this.#owner === null || uid === this.#owner;
  }

  async #namesIn(directory: HeldDirectory): Promise<readonly string[]> {
    const names: string[] = [];
    await unlessRefusedLater(async () => {
      for await (const name of await namesOf(directory)) names.push(name);
    }, undefined);
    return names;
  }

  async #breathe(): Promise<void> {
    const { clock } = this.#request;
    if (clock.monotonicMs() < this.#sliceEnd) return;
    await setImmediate();
    this.#sliceEnd = clock.monotonicMs() + sliceMs;
  }
}

/** Most of what is looked for is missing, and an error would take longer to make than all the rest. */
function isThere(directory: HeldDirectory, path: string): boolean {
  return unlessRefused(() => lstatSync(directory.entry(path), { throwIfNoEntry: false }), undefined) !== undefined;
}

/** Read by a thread, a few at a time. */
async function namesOf(directory: HeldDirectory): Promise<AsyncIterable<string>> {
  const entries = await opendir(directory.path);
  return (async function* () {
    for await (const { name } of entries) yield name;
  })();
}

/** An open reader keeps the old file. On a full disk there is no room for a new one, so the old one is emptied in place. */
function empty(session: HeldDirectory): void {
  const file = unlessRefused(() => new TemporaryFile(session.path, 0o600), null);
  if (file === null) return emptied(session);
  try {
    file.keepAs(session.entry(removedFile));
  } finally {
    file.close();
  }
}

function emptied(session: HeldDirectory): void {
  const found = session.openFile(removedFile, O_WRONLY);
  if (found.kind !== 'file') return;
  try {
    ftruncateSync(found.fd);
  } finally {
    closeSync(found.fd);
  }
}

/** Another run was faster. */
async function unlessGone(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

/** A directory with files of others stays. */
function unlessNotEmpty(error: unknown): void {
  if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) throw error;
}
