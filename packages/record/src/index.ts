/** Reads what `svc` recorded of its sessions, for programs: the same readers as those of `svc trace`. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { homeDirectory } from '@svc/kit/files/home-directory.ts';
import type { BodyReading } from './journal/body-reading.ts';
import { damaged, JournalReader } from './journal/journal-reader.ts';
import { LineFile, openOwn } from './journal/line-file.ts';
import type { JournalRecord, RecordKind } from './journal/records.ts';
import type { SessionFacts } from './sessions/listed-session.ts';
import { thisUser } from './sessions/recorded-process.ts';
import {
  folderOfSession,
  locateSession,
  noJournal,
  openFolder,
  type OpenFolder,
  removedAt,
  type SessionPlaces,
  sessionsFolders,
  traceFile,
  untrusted,
  usualManifest,
} from './sessions/recorded-sessions.ts';
import { sessionList } from './sessions/session-list.ts';
import { linesLeftOut, parseLine, receivedIn } from './sessions/trace-events.ts';
import { readTraceLine, type TraceLine } from './trace/events.ts';

export type { BodyReading } from './journal/body-reading.ts';
export type { JournalRecord, RecordKind } from './journal/records.ts';
export type { SessionFacts } from './sessions/listed-session.ts';
export type { TraceLine } from './trace/events.ts';

/** Where sessions are looked for. */
export interface RecordOptions {
  /** The manifest of the workspace, `./svc.yaml` when absent. Where there is no workspace, tasks without a manifest are meant. */
  readonly manifest?: string;
  /** What relative paths are relative to; the current directory when absent. */
  readonly cwd?: string;
  /** The folder that holds the `.svc` of the user; the home of the user when absent. */
  readonly home?: string;
  /** Hears what is wrong and keeps nothing from being read: `E-RUN-072` of a session that is left out of a list, `W-RUN-072`, `W-RUN-173`. */
  readonly onWarning?: (warning: RecordError) => void;
}

/** What can be acted on, by the codes of `svc trace`; `svc explain <code>` says what a code means. Anything else that is thrown is a bug. */
export interface RecordError extends Error {
  readonly code: string;
  /** What to do next. */
  readonly hint: string | undefined;
}

/** Whether an error is one of the library's own. */
export function isRecordError(error: unknown): error is RecordError {
  return error instanceof Diagnostic;
}

/** The sessions of the workspace, the newest first. One that cannot be looked into is left out. */
export function listSessions(options: RecordOptions = {}): readonly SessionFacts[] {
  const places = placesOf(options);
  const tell = (found: RecordError): void => options.onWarning?.(found);
  return sessionList(sessionsFolders(places, workspaceOf(options)), { home: places.home, tell });
}

/** Returns the whole id of the session whose id ends with these four characters or more. `E-RUN-070` when no session does, `E-RUN-091` when several do. */
export function findSession(wanted: string, options: RecordOptions = {}): string {
  return locateSession(folderOfSession(placesOf(options), workspaceOf(options), wanted), wanted);
}

/**
 * Opens a session by the end of its id, or by the path of its folder or of what `svc trace export` made; the newest of the workspace when `wanted` is
 * absent. The caller closes it.
 */
export async function openSession(wanted?: string, options: RecordOptions = {}): Promise<RecordedSession> {
  return new OpenSession(await openFolder(placesOf(options), wanted, workspaceOf(options)), options);
}

/** A session whose files are open for reading. Its methods read anew at each call, so one that still runs has more each time. */
export interface RecordedSession extends Disposable {
  /** Its id, or the path that it was named by. */
  readonly name: string;
  /**
   * The lines of its trace, in their order; nothing without a trace. It passes over what is not a line of a trace or is longer than 16 MiB, and `onWarning`
   * hears how many (`W-RUN-173`). A task whose text makes its line too long is given with the beginning of it.
   */
  events(): Generator<TraceLine, void>;
  /**
   * The records of its journal, or those of some kinds, each held to the chain of those before it. Throws `E-RUN-071` where there is no journal, and
   * `E-RUN-073` at the first record that is damaged.
   */
  records<Kind extends RecordKind = RecordKind>(kinds?: readonly Kind[]): Generator<JournalRecord<Kind>, void>;
  /** A text of the journal by the hash that a record names it by, held to that hash. */
  body(sha256: string): BodyReading;
  close(): void;
}

class OpenSession implements RecordedSession {
  readonly name: string;
  readonly #folder: OpenFolder;
  readonly #options: RecordOptions;
  #bodies: JournalReader | null = null;
  #knownBytes = 0;

  constructor(folder: OpenFolder, options: RecordOptions) {
    this.name = folder.name;
    this.#folder = folder;
    this.#options = options;
  }

  *events(): Generator<TraceLine, void> {
    const fd = openOwn(this.#folder.directory, traceFile, thisUser());
    if (fd === null) return;
    const file = new LineFile(fd);
    let unread = 0;
    try {
      for (const { line, isWhole } of file.everyLine()) {
        const text = line.toString('utf8');
        const event = readTraceLine(isWhole ? parseLine(text) : receivedIn(text));
        if (event === null) unread += 1;
        else yield event;
      }
    } finally {
      file.close();
    }
    if (unread > 0) this.#options.onWarning?.(linesLeftOut(this.name, unread));
  }

  *records<Kind extends RecordKind = RecordKind>(kinds?: readonly Kind[]): Generator<JournalRecord<Kind>, void> {
    const reader = this.#openJournal();
    try {
      if (reader.opening()?.open.trusted === false) this.#options.onWarning?.(untrusted(this.name));
      const scan = reader.scan(kinds);
      for (const { record } of scan.records()) yield record;
      if (scan.damage !== null) throw damaged(scan.damage);
    } finally {
      reader.close();
    }
  }

  body(sha256: string): BodyReading {
    const reader = (this.#bodies ??= this.#openJournal());
    // A session that runs has written more.
    if (reader.size !== this.#knownBytes) reader.renew();
    this.#knownBytes = reader.size;
    return reader.body(sha256);
  }

  close(): void {
    this.#bodies?.close();
    this.#bodies = null;
    this.#folder.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #openJournal(): JournalReader {
    const { directory, name } = this.#folder;
    const reader = JournalReader.open(directory, thisUser());
    if (reader === null) throw noJournal(name, removedAt(directory));
    return reader;
  }
}

function placesOf({ cwd = process.cwd(), home }: RecordOptions): SessionPlaces {
  return { cwd, home: homeDirectory(home ?? process.env['HOME']) };
}

function workspaceOf({ manifest = usualManifest }: RecordOptions): { readonly manifest: string } {
  return { manifest };
}
