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
import type { HeldFacts, ViewedFile } from '@svc/protocol/viewed-session.ts';
import type { JournalReader } from '../../journal/journal-reader.ts';
import type { LineFile } from '../../journal/line-file.ts';
import { ExportSize } from '../trace/export-limits.ts';
import { thisUser } from '../trace/recorded-sessions.ts';
import { BareJournal } from './bare-journal.ts';
import { dataEnd, dataElement, dataStart, exportedParts, type PageTexts } from './page-document.ts';
import { filesOf, openViewedFile } from './session-files.ts';
import { SessionLooks, viewedFacts, type ViewedSession } from './viewed-session.ts';
import { WholeLines } from './whole-lines.ts';

/** What an exported page brings beside its trace. */
export interface Added {
  readonly texts: number;
  readonly files: number;
  /** Of both, before they are packed. */
  readonly bytes: number;
}

interface ExportRequest {
  readonly session: ViewedSession;
  readonly page: PageTexts;
  readonly path: string;
  readonly bodies: boolean;
  readonly files: boolean;
  readonly redactor: Redactor;
  /** Told what is added, before anything is written. */
  readonly tell: (added: Added) => void;
  /** Ends it, and nothing is left beside what was there. */
  readonly signal: AbortSignal;
}

const mostFileBytes = 16 * 1024 * 1024;
/** A longer line is redacted in parts. */
const longestLine = 64 * 1024 * 1024;

/** Replaces the file as a whole: after a crash it is the old one or the new one. `E-RUN-068` for more than an export may hold. */
export async function exportPage(request: ExportRequest): Promise<Added> {
  const { session, path, tell } = request;
  const parts = new SessionParts(request);
  try {
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
  { session, page, bodies, redactor }: ExportRequest,
  parts: SessionParts,
  files: readonly ViewedFile[],
): AsyncGenerator<Uint8Array> {
  const { before, after } = exportedParts(page);
  yield Buffer.from(before);
  const facts = await exportedFacts(session, { looks: parts.looks, hasFiles: files.length > 0 });
  yield Buffer.from(dataElement('svc-facts', Buffer.from(redactor.redact(JSON.stringify(facts))).toString('base64')));
  yield* packed('svc-trace', parts.trace());
  if (parts.hasJournal) yield* packed('svc-journal', parts.journal());
  if (bodies) yield* packed('svc-bodies', parts.bodies());
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
  return { ...facts, live: false, has: { ...facts.has, files: hasFiles }, notes, row: session.row() };
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
  readonly #bodies: boolean;
  readonly #trace: LineFile | null;
  readonly #journal: LineFile | null;
  readonly #open: { readonly reader: JournalReader; readonly close: () => void } | null;

  constructor({ session, redactor, bodies }: ExportRequest) {
    this.#session = session;
    this.#redactor = redactor;
    this.#bodies = bodies;
    this.#trace = session.openTrace();
    this.#journal = session.openJournal();
    this.#open = bodies ? session.openReader() : null;
  }

  get hasJournal(): boolean {
    return this.#journal !== null;
  }

  /** `E-RUN-068` before anything large is read. */
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
      bytes += Math.min(length, mostFileBytes);
      size.add(Math.min(length, mostFileBytes));
    }
    return { texts, files: files.length, bytes };
  }

  *trace(): Generator<Buffer> {
    if (this.#trace === null) return;
    const lines = new WholeLines(this.#trace);
    let at = 0;
    do {
      for (const end = lines.end(); at < end;) {
        const piece = lines.linesAt(at, end, longestLine) ?? this.#trace.readAt(at, Math.min(longestLine, end - at));
        if (piece.length === 0) return;
        at += piece.length;
        yield this.#redacted(piece);
      }
    } while (lines.isBehind);
  }

  *journal(): Generator<Buffer> {
    if (this.#journal === null) return;
    for (const lines of new BareJournal(this.#journal).next()) yield this.#redacted(lines);
  }

  *bodies(): Generator<Buffer> {
    for (const { sha256 } of this.#kept()) {
      const body = this.#open?.reader.body(sha256);
      if (body?.kind === 'text') yield this.#line({ sha256, text: this.#redactor.redact(body.text) });
    }
  }

  async *files(files: readonly ViewedFile[]): AsyncGenerator<Buffer> {
    for (const { path, bytes } of files) {
      const text = bytes > mostFileBytes ? null : await this.#textOf(path);
      yield this.#line({ path, bytes, text: text === null ? null : this.#redactor.redact(text) });
    }
  }

  close(): void {
    this.#trace?.close();
    this.#journal?.close();
    this.#open?.close();
  }

  /** Texts that are there as a whole, each once, in the order in which they came. */
  *#kept(): Generator<{ readonly sha256: string; readonly bytes: number }> {
    if (!this.#bodies || this.#open === null) return;
    const seen = new Set<string>();
    for (const { record } of this.#open.reader.scan(['body']).records()) {
      const { sha256, bytes, data, file } = record;
      if (seen.has(sha256) || (data === undefined && file === undefined)) continue;
      seen.add(sha256);
      yield { sha256, bytes };
    }
  }

  /** Null for what is no text, has grown too long, or is gone. */
  async #textOf(path: string): Promise<string | null> {
    const file = await openViewedFile(this.#session, path, this.looks);
    if (file === null) return null;
    try {
      const bytes = readFileUpTo(file.descriptor, mostFileBytes);
      return bytes === undefined ? null : (decodeStrictUtf8(bytes) ?? null);
    } finally {
      release(file.descriptor);
    }
  }

  #redacted(bytes: Buffer): Buffer {
    const text = bytes.toString('utf8');
    const redacted = this.#redactor.redact(text);
    // What holds no secret stays the bytes that it is, also where those are no text.
    return redacted === text ? bytes : Buffer.from(redacted);
  }

  #line(value: object): Buffer {
    return Buffer.from(`${JSON.stringify(value)}\n`);
  }
}
