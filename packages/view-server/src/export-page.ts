/** Writes a session and the page that shows it into one file, which asks nobody for anything. */

import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { readFileUpTo, release } from '@svc/kit/files/read-up-to.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { removeLeftovers } from '@svc/kit/files/scratch-folder.ts';
import { temporaryPrefix } from '@svc/kit/files/temporary-name.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import type { StepDetail, HeldAnswer, HeldFacts, ViewedFile } from '@svc/protocol/viewed-session.ts';
import type { JournalReader } from '@svc/record/journal/journal-reader.ts';
import type { LineFile } from '@svc/record/journal/line-file.ts';
import { ExportSize } from '@svc/record/sessions/export-limits.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import { eachLine } from './each-line.ts';
import { rowsOf } from './follow-rows.ts';
import { JournalPlaces } from './journal-places.ts';
import { dataEnd, dataElement, dataStart, exportedParts, type BuiltPage } from './page-document.ts';
import { type FullText, hashOf, type OpenJournal, resultOf, textIn, textsOf } from './row-texts.ts';
import { detailOf } from './rows/line-detail.ts';
import { filesOf, openViewedFile } from './session-files.ts';
import { type Sought, StepPlaces } from './step-places.ts';
import { placedEvent } from './trace-index.ts';
import { changesIn } from './trace-lookups.ts';
import { SessionLooks, viewedFacts, type ViewedSession } from './viewed-session.ts';

/** What an exported page brings beside its trace. */
export interface Added {
  readonly texts: number;
  readonly files: number;
  /** Bytes of both, before they are packed. */
  readonly bytes: number;
}

interface ExportRequest {
  readonly session: ViewedSession;
  readonly page: BuiltPage;
  readonly path: string;
  readonly bodies: boolean;
  readonly files: boolean;
  readonly redactor: Redactor;
  /** Called with what is added, before anything is written. */
  readonly tell: (added: Added) => void;
  /** Ends it, and nothing is left beside what was there. */
  readonly signal: AbortSignal;
}

/** `text` is null for a file that is no text, or too long. */
type HeldFile = ViewedFile & { readonly text: string | null };

const maxFileBytes = 16 * 1024 * 1024;

/** Replaces the file as a whole: after a crash it is the old one or the new one. `E-RUN-068` for more than an export may hold. */
export async function exportPage(request: ExportRequest): Promise<Added> {
  const { session, path, tell } = request;
  const parts = new SessionParts(request);
  try {
    await parts.look();
    const files = request.files ? (await filesOf(session, parts.looks)).files : [];
    const added = parts.measure(files);
    tell(added);
    removeLeftovers(dirname(path), temporaryPrefix, { now: systemClock.now(), owner: thisUser() });
    await replaceFile(path, unlessInterrupted(documentOf(request, parts, files), request.signal), { mode: 0o600 });
    return added;
  } finally {
    parts.close();
  }
}

async function* unlessInterrupted(pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    if (signal.aborted) throw new Diagnostic('E-IO-001', 'the export was interrupted');
    yield piece;
  }
}

async function* documentOf(
  { session, page, redactor }: ExportRequest,
  parts: SessionParts,
  files: readonly ViewedFile[],
): AsyncGenerator<Uint8Array> {
  const { before, after } = exportedParts(page);
  yield Buffer.from(before);
  const facts = await exportedFacts(session, { looks: parts.looks, hasFiles: files.length > 0 });
  yield Buffer.from(dataElement('svc-facts', Buffer.from(redactedJson(facts, redactor)).toString('base64')));
  yield* packed('svc-rows', parts.rows());
  yield* packed('svc-lines', parts.lines());
  yield* packed('svc-answers', parts.answers());
  if (files.length > 0) yield* packed('svc-files', parts.files(files));
  yield Buffer.from(after);
}

/** An exported page never writes, and never waits for more. */
async function exportedFacts(
  session: ViewedSession,
  { looks, hasFiles }: { readonly looks: SessionLooks; readonly hasFiles: boolean },
): Promise<HeldFacts> {
  const facts = await viewedFacts(session, { looks, readOnly: true });
  const notes = facts.live ? ['The session was running when this was exported.', ...facts.notes] : facts.notes;
  return { ...facts, live: false, has: { ...facts.has, files: hasFiles }, notes, row: await session.row() };
}

/** A data element with these bytes, as gzip in base64. */
async function* packed(
  id: string,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(dataStart(id));
  const gzip = createGzip();
  const feeding = pipeline(Readable.from(source), gzip);
  // Where the source fails, so does what is read here.
  feeding.catch(() => {});
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of gzip as AsyncIterable<Buffer>) {
    const bytes = Buffer.concat([rest, piece]);
    const whole = bytes.length - (bytes.length % 3);
    yield Buffer.from(bytes.toString('base64', 0, whole));
    rest = bytes.subarray(whole);
  }
  await feeding;
  yield Buffer.from(rest.toString('base64') + dataEnd);
}

/** The record of a session as it was when the export began. */
class SessionParts {
  readonly looks = new SessionLooks();
  readonly #session: ViewedSession;
  readonly #redactor: Redactor;
  readonly #trace: LineFile | null;
  readonly #journal: LineFile | null;
  readonly #open: { readonly reader: JournalReader; readonly close: () => void } | null;
  readonly #places = new JournalPlaces();
  /** One text may be shown at many lines: measuring before gives less than what is written. */
  readonly #written = new ExportSize();

  constructor({ session, redactor, bodies }: ExportRequest) {
    this.#session = session;
    this.#redactor = redactor;
    this.#trace = session.openTrace();
    this.#journal = session.openJournal();
    this.#open = bodies ? session.openReader() : null;
  }

  /** Called before all else. */
  async look(): Promise<void> {
    if (this.#journal !== null) await this.#places.goOn(this.#journal);
  }

  /** `E-RUN-068` before anything large is written. */
  measure(files: readonly ViewedFile[]): Added {
    const size = new ExportSize();
    size.grow((this.#trace?.size ?? 0) + (this.#journal?.size ?? 0));
    let [texts, bytes] = [0, 0];
    for (const { bytes: length } of this.#kept()) {
      texts += 1;
      bytes += length;
      size.grow(length);
    }
    for (const { bytes: length } of files) {
      bytes += Math.min(length, maxFileBytes);
      size.add(Math.min(length, maxFileBytes));
    }
    return { texts, files: files.length, bytes };
  }

  *rows(): Generator<Buffer> {
    if (this.#trace === null) return;
    for (const block of rowsOf(this.#trace, (line) => this.#textOfLine(line))) yield this.#counted(Buffer.from(block));
  }

  /** All that is shown of each line of the trace. */
  *lines(): Generator<Buffer> {
    const journal = this.#openJournal();
    for (const { row, line, sought } of this.#sought())
      yield this.#held({ ...detailOf(this.#textOfLine(line), row), ...textsOf(sought, journal) });
  }

  /** What else a page asks, by the paths of the session. */
  async *answers(): AsyncGenerator<Buffer> {
    const journal = this.#openJournal();
    const changes = this.#trace === null ? [] : await changesIn(this.#trace);
    yield this.#held(['changes', changes]);
    for (const [task] of this.#places.results())
      yield this.#held([`result/${this.#inPath(task)}`, resultOf(task, journal)]);
  }

  async *files(files: readonly ViewedFile[]): AsyncGenerator<Buffer> {
    for (const { path, bytes } of files) {
      const text = bytes > maxFileBytes ? null : await this.#textOf(path);
      yield this.#held({ path, bytes, text });
    }
  }

  close(): void {
    this.#trace?.close();
    this.#journal?.close();
    this.#open?.close();
  }

  /** Texts that the page shows and that are there as a whole, each once, in the order in which they came. */
  *#kept(): Generator<{ readonly sha256: string; readonly bytes: number }> {
    if (this.#open === null || this.#journal === null) return;
    const wanted = new Set<string | null>([...this.#places.results()].map(([, hash]) => hash));
    for (const { sought } of this.#sought()) wanted.add(hashOf(sought, { file: this.#journal, places: this.#places }));
    for (const { record } of this.#open.reader.scan(['body']).records()) {
      const { sha256, bytes, data, file } = record;
      if ((data === undefined && file === undefined) || !wanted.delete(sha256)) continue;
      yield { sha256, bytes };
    }
  }

  *#sought(): Generator<{ readonly row: number; readonly line: Buffer; readonly sought: Sought | null }> {
    if (this.#trace === null) return;
    const places = new StepPlaces();
    let row = 0;
    for (const each of eachLine(this.#trace, 0)) {
      if (each === null) continue;
      const event = placedEvent(each);
      yield { row, line: each.line, sought: event === null ? null : places.take(event) };
      row += 1;
    }
  }

  #textOfHash(sha256: string): FullText {
    if (this.#open === null) return { why: 'Not in this file: it was exported without texts.' };
    const full = textIn(this.#open.reader, sha256);
    return 'why' in full ? full : { text: this.#redactor.redact(full.text) };
  }

  #openJournal(): OpenJournal | null {
    if (this.#journal === null) return null;
    return { file: this.#journal, places: this.#places, textOf: (sha256) => this.#textOfHash(sha256) };
  }

  #textOfLine(line: Buffer): string {
    return this.#redactor.redact(line.toString('utf8'));
  }

  #held(answer: HeldAnswer | StepDetail | HeldFile): Buffer {
    return this.#counted(Buffer.from(`${redactedJson(answer, this.#redactor)}\n`));
  }

  /** An id may hold half a character, which no path can, and is a secret in the rows where it is one here. */
  #inPath(id: string): string {
    return encodeURIComponent(this.#redactor.redact(id.toWellFormed()));
  }

  /** `E-RUN-068` once all that was written is too much. */
  #counted(piece: Buffer): Buffer {
    this.#written.grow(piece.length);
    return piece;
  }

  /** Returns null for what is no text, has grown too long, or is gone. */
  async #textOf(path: string): Promise<string | null> {
    const file = await openViewedFile(this.#session, path, this.looks);
    if (file === null) return null;
    try {
      const bytes = readFileUpTo(file.descriptor, maxFileBytes);
      return bytes === undefined ? null : (decodeStrictUtf8(bytes) ?? null);
    } finally {
      release(file.descriptor);
    }
  }
}

/** The JSON of a value whose texts have no secrets: a secret spelled as `null` or a number is no secret where JSON has that. */
function redactedJson(value: object, redactor: Redactor): string {
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === 'string' ? redactor.redact(each) : each));
}
