/** One session that is shown: where its files are, whether it lives, and what is wrong with its record. */

import { BoundedMap } from '@svc/kit/bounded-map.ts';
import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { runYielding, yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { shownMinute } from '@svc/kit/shown-values.ts';
import type { ViewedFacts } from '@svc/protocol/viewed-session.ts';
import { isJournalHeld } from '@svc/record/sessions/journal-holder.ts';
import { readRunningRecords, type RunningRecord } from '@svc/record/sessions/running-record.ts';
import { damaged, JournalReader } from '@svc/record/journal/journal-reader.ts';
import type { Damage } from '@svc/record/journal/journal-scan.ts';
import { LineFile, notOwn, openOwn } from '@svc/record/journal/line-file.ts';
import { journalFile } from '@svc/record/journal/journal-writer.ts';
import { removedAt, traceFile } from '@svc/record/sessions/recorded-sessions.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import { readFacts, type SessionFacts } from '@svc/record/sessions/session-facts.ts';
import { grantedIn } from './recorded-grants.ts';
import { type TraceLook, TraceLooks } from './trace-look.ts';

export interface OpenReader {
  readonly reader: JournalReader;
  readonly close: () => void;
}

/** What a page asks of a session. Whatever cannot be read is a `Diagnostic`. */
export interface ViewedSession {
  readonly id: string;
  /** Whether it may write more. */
  isLive(): boolean;
  /** The record of the capsule, while it runs. */
  record(): RunningRecord | null;
  /** The line of a list of sessions. */
  row(): Promise<SessionFacts>;
  /** Returns null without a trace; the caller closes it. */
  openTrace(): LineFile | null;
  /** The file itself, null without a journal; the caller closes it. */
  openJournal(): LineFile | null;
  /** Returns null without a journal; the caller closes it. */
  openReader(): OpenReader | null;
  /** Where its agent has worked, canonical; null where that is not known or gone. */
  workdir(): string | null;
  /** What is said of it beside its row, one plain line each. */
  notes(): readonly string[];
}

/** What `use` makes of the journal of a session, which is open while it runs; null without a journal. */
export function withReader<Value>(session: ViewedSession, use: (reader: JournalReader) => Value): Value | null {
  const open = session.openReader();
  if (open === null) return null;
  try {
    return use(open.reader);
  } finally {
    open.close();
  }
}

/** Sessions whose traces were looked through last. */
const maxLooks = 32;

interface Looks {
  readonly trace: TraceLooks;
  journal: { readonly size: number; readonly damage: Promise<Damage | null> } | null;
}

/** Looks through the traces and journals of sessions, each once. */
export class SessionLooks {
  readonly #known = new BoundedMap<string, Looks>(maxLooks);

  /** Returns null where the session has no trace. */
  async at(session: ViewedSession): Promise<TraceLook | null> {
    const file = session.openTrace();
    if (file === null) return null;
    try {
      return await this.#of(session).trace.look(file, session.isLive());
    } finally {
      file.close();
    }
  }

  /** Where the journal of an ended session is damaged; null where it is not, and without one. */
  async damageIn(session: ViewedSession): Promise<Damage | null> {
    const open = session.isLive() ? null : session.openReader();
    if (open === null) return null;
    try {
      const looks = this.#of(session);
      const { size } = open.reader;
      if (looks.journal?.size !== size) looks.journal = { size, damage: damageOf(open.reader) };
      return await looks.journal.damage;
    } finally {
      open.close();
    }
  }

  #of({ id }: ViewedSession): Looks {
    const looks = this.#known.get(id) ?? { trace: new TraceLooks(), journal: null };
    this.#known.set(id, looks);
    return looks;
  }
}

/** Others have their turn at each index; there is one a mebibyte. */
async function damageOf(reader: JournalReader): Promise<Damage | null> {
  const scan = reader.scan(['index']);
  for (const _ of scan.records()) await yieldToLoop();
  return scan.damage;
}

const noTrace = 'There is no trace of the session: it ended before it began, or the trace was removed.';

/** What a page receives of a session (docs/viewer.md "What the page asks"). */
export async function viewedFacts(
  session: ViewedSession,
  { looks, readOnly }: { readonly looks: SessionLooks; readonly readOnly: boolean },
): Promise<ViewedFacts> {
  const live = session.isLive();
  const look = await looks.at(session);
  const damage = await looks.damageIn(session);
  const journal = withReader(session, (reader) => journalFacts(reader, damage));
  return {
    id: session.id,
    live,
    readOnly,
    capture: journal?.capture ?? 'none',
    has: { trace: look !== null, journal: journal !== null, files: session.workdir() !== null },
    notes: [...(look?.notes ?? [noTrace]), ...(journal?.notes ?? []), ...session.notes()],
    notStopped: look?.notStopped ?? [],
    granted: look?.start == null ? null : grantedIn(look.start, journal?.manifest ?? ''),
  };
}

interface JournalFacts {
  readonly capture: ViewedFacts['capture'];
  readonly notes: readonly string[];
  /** '' where it is not kept. */
  readonly manifest: string;
}

function journalFacts(reader: JournalReader, damage: Damage | null): JournalFacts {
  try {
    const opening = reader.opening();
    if (opening === null)
      return { capture: 'none', notes: ['The journal does not begin as one of this version of svc.'], manifest: '' };
    // Only the end of a journal that grows is looked at.
    if (damage === null) reader.lastStep();
    const { capture, trusted } = opening.open;
    const manifest = opening.setup === null ? null : reader.body(opening.setup.manifest);
    const doubt = 'Commands of the session could have written its journal: it ran with less than scoped containment.';
    return {
      capture,
      notes: [...(trusted ? [] : [doubt]), ...(damage === null ? [] : [noteOf(damaged(damage))])],
      manifest: manifest?.kind === 'text' ? manifest.text : '',
    };
  } catch (error) {
    if (!(error instanceof Diagnostic) || error.code !== 'E-RUN-073') throw error;
    return { capture: 'none', notes: [noteOf(error)], manifest: '' };
  }
}

function noteOf({ message }: Diagnostic): string {
  return `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`;
}

/** An export has none, so that what was imported has none either. */
const madeNote =
  'There is no trace of the session: what is shown is made from its journal, which has no connections and no refusals.';

/** Makes traces of journals. */
interface TraceMaker {
  open(session: ViewedSession): LineFile | null;
  has(session: ViewedSession): boolean;
}

interface Folder {
  readonly id: string;
  /** Where the running sessions of the user are known. */
  readonly home: string;
  /** The folder that a capsule of this id would write to; null for a copy, which nothing writes to whatever its id is. */
  readonly place: string | null;
  /** Holds the folder of the session; throws what the system refuses. The caller closes it. */
  readonly hold: () => HeldDirectory;
  /** Gives what has no trace one that is made of its journal. */
  readonly made?: TraceMaker;
  /** Where the workdir of an ended session lies if `--workdir` named no other; null where nobody knows. */
  readonly usualWorkdir: () => WorkdirPlace | null;
}

/** A workdir by a folder of the operator's, in whose path links are followed, and what is below it, where agents may have put any. */
export interface WorkdirPlace {
  readonly root: string;
  readonly below: string;
}

/** Held while it is looked up: what takes its place meanwhile is not taken for it. Throws what the system refuses. */
function realOf({ root, below }: WorkdirPlace): string {
  const outer = HeldDirectory.at(root);
  try {
    const workdir = outer.below(below);
    try {
      return workdir.fd === null ? workdir.path : readlinkSync(`/proc/self/fd/${workdir.fd}`);
    } finally {
      workdir.close();
    }
  } finally {
    outer.close();
  }
}

/** A session in a folder of this user. */
export class FolderSession implements ViewedSession {
  readonly id: string;
  readonly #folder: Folder;

  constructor(folder: Folder) {
    this.id = folder.id;
    this.#folder = folder;
  }

  isLive(): boolean {
    return this.record() !== null || this.#within((directory) => isJournalHeld(directory, systemClock.now()));
  }

  record(): RunningRecord | null {
    const { home, place } = this.#folder;
    if (place === null) return null;
    const record = readRunningRecords(home).find(({ session_id: id }) => id === this.id);
    // A folder may have the name of a session that runs elsewhere.
    const writes = record?.session_directory ?? null;
    return record !== undefined && writes !== null && isSamePlace(writes, place) ? record : null;
  }

  async row(): Promise<SessionFacts> {
    const directory = held(this.#folder);
    try {
      return await runYielding(readFacts(this.id, directory, this.record() !== null));
    } finally {
      directory.close();
    }
  }

  /** Opens the trace. If an ended session has no trace, opens one that is made of its journal. */
  openTrace(): LineFile | null {
    return this.#open(traceFile) ?? (this.isLive() ? null : (this.#folder.made?.open(this) ?? null));
  }

  openJournal(): LineFile | null {
    return this.#open(journalFile);
  }

  openReader(): OpenReader | null {
    const directory = held(this.#folder);
    let reader: JournalReader | null = null;
    try {
      reader = JournalReader.open(directory, thisUser());
    } finally {
      if (reader === null) directory.close();
    }
    if (reader === null) return null;
    const opened = reader;
    const close = (): void => {
      opened.close();
      directory.close();
    };
    return { reader, close };
  }

  workdir(): string | null {
    const path = this.record()?.workdir;
    const place = path === undefined ? this.#folder.usualWorkdir() : { root: dirname(path), below: basename(path) };
    return place === null ? null : unlessRefused(() => realOf(place), null);
  }

  notes(): readonly string[] {
    if (this.#folder.made?.has(this) === true) return [madeNote];
    return this.#within((directory) => {
      const at = removedAt(directory);
      return at === null ? [] : [`The journal was removed on ${shownMinute(at)}, as trace.keep of its manifest says.`];
    });
  }

  #open(name: string): LineFile | null {
    return this.#within((directory) => {
      const fd = openOwn(directory, name, thisUser());
      return fd === null ? null : new LineFile(fd);
    });
  }

  #within<Value>(use: (directory: HeldDirectory) => Value): Value {
    const directory = held(this.#folder);
    try {
      return use(directory);
    } finally {
      directory.close();
    }
  }
}

function isSamePlace(path: string, other: string): boolean {
  return path === other || unlessRefused(() => realpathSync(path) === realpathSync(other), false);
}

/** `E-RUN-072` for a link, and for a folder of somebody else; `E-RUN-070` for one that is gone. */
function held({ id, hold }: Folder): HeldDirectory {
  let directory: HeldDirectory;
  try {
    directory = hold();
  } catch (error) {
    if (isObstacle(error)) throw notOwn(`${id} is a link or a file`);
    if (!isErrno(error, 'ENOENT')) throw ioFault(error, `cannot open the session ${id}`);
    throw new Diagnostic('E-RUN-070', `the session ${id} is not there any more`);
  }
  const { uid } = statSync(directory.path);
  if (thisUser() === null || uid === thisUser()) return directory;
  directory.close();
  throw notOwn(`${id} belongs to user ${uid}`);
}

/** Where a session works that `--workdir` gave no other place: `workdir/<id>` beside `.svc/sessions/` (docs/cli.md "Files"). */
export function usualWorkdir(sessionsFolder: string, id: string): WorkdirPlace | null {
  const state = dirname(sessionsFolder);
  return basename(state) === '.svc' ? { root: join(dirname(state), 'workdir'), below: id } : null;
}
