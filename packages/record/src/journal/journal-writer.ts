/** Writes the journal of a session: what is needed to look back on it and to run it again. */

import { closeSync, constants, mkdirSync, openSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Clock } from '@svc/kit/clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno, isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { TemporaryFile } from '@svc/kit/files/replace-file.ts';
import { isLong, type Steps } from '@svc/kit/yield-to-loop.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { appendWhole } from '@svc/kit/files/transfer-sync.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import { IndexBuilder } from './journal-index.ts';
import { LineBuffer } from './line-buffer.ts';
import { firstChain } from './record-line.ts';
import { redactedRecord } from './redacted-record.ts';
import type { RecordKind, RecordOf } from './records.ts';

/** What is kept of the texts of a session: the whole of them, or hashes and sizes alone. */
export type Capture = 'content' | 'meta';

/** A record as a session hands it over: with the time of that moment where it has none. Bodies and indexes are the writer's own. */
export type NewRecord = {
  [Kind in Exclude<RecordKind, 'body' | 'index'>]: Untimed<RecordOf<Kind>>;
}[Exclude<RecordKind, 'body' | 'index'>];

type Untimed<Each> = Each extends { readonly at: number } ? Omit<Each, 'at'> & { readonly at?: number } : Each;

/** Where a session is recorded so that it can be looked at and run again. */
export interface Journal {
  /** `meta` from the moment on at which a journal of `content` is full. */
  readonly capture: Capture;
  /**
   * Keeps a text with the secrets taken out, unless it is one of the latest that were kept, and returns the SHA-256 of what is kept. Its line goes out
   * with the next record.
   */
  body(text: string): Steps<string>;
  /** The same for a text that has no secrets any more. */
  redactedBody(text: string): Steps<string>;
  /** Appends one line with the texts before it, all or nothing. Throws the Diagnostic `E-IO-006` when it cannot, and the file is as it was. */
  append(record: NewRecord): void;
  /** Nothing is taken any more. */
  close(): void;
}

/** What a journal may grow to, in bytes. */
export interface JournalLimits {
  /** The longest text that is kept whole (`trace.max_body`). */
  readonly maxBody: number;
  /** Lines and bodies together (`trace.max_bytes`). */
  readonly maxBytes: number;
  /** What has to stay free on the disk; nothing when absent. */
  readonly spare?: number;
}

export interface JournalOptions {
  /** The directory of the session, which has its trace. It must exist. */
  readonly directory: string;
  readonly session: SessionId;
  readonly capture: Capture;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
  readonly limits: JournalLimits;
  readonly clock: Pick<Clock, 'now'>;
  /** Called once, when the limit is reached and only hashes are kept from there on. */
  readonly onFull: () => void;
}

export const journalFile = 'journal.jsonl';
export const bodiesDirectory = 'bodies';
/** Stands empty in the place of a journal that `trace.keep` has removed. */
export const removedFile = 'journal.removed';

/** The most bytes of UTF-8 in a line; a longer text has a file of its own. */
export const maxInline: number = 64 * 1024;
/** What stays of each end of a text that is too long to be kept. */
const endBytes = 4096;

/** Texts that are known to be kept, those that were named last: another that comes again is kept again. */
const maxKnown = 65_536;

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants;

/** Opens `journal.jsonl` of a session, owner-only; one that is there is never gone on with: `E-IO-006`. */
export function openJournal(options: JournalOptions): Journal {
  return new FileJournal(options);
}

interface Place {
  readonly n: number;
  readonly chain: string;
}

interface HeldLine {
  readonly record: RecordOf<RecordKind>;
  readonly at: Place;
  /** Where it ends among the lines that are held. */
  readonly end: number;
}

class FileJournal implements Journal {
  readonly #options: JournalOptions;
  readonly #path: string;
  readonly #fd: number;
  #capture: Capture;
  #isOpen = true;
  #size = 0;
  #bodyBytes = 0;
  /** How much may be written before the disk is asked again how much is left. */
  #unasked = 0;
  /** The number of the next line, and the chain before it. */
  #place: Place = { n: 0, chain: firstChain };
  /** Lines that go out with the next record. */
  #held: HeldLine[] = [];
  readonly #heldBytes = new LineBuffer();
  #index = new IndexBuilder();
  readonly #kept = new Set<string>();

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#capture = options.capture;
    this.#path = join(options.directory, journalFile);
    this.#leaveSpare(0);
    this.#fd = this.#attempt(() => openSync(this.#path, O_WRONLY | O_CREAT | O_APPEND | O_EXCL, 0o600));
  }

  get capture(): Capture {
    return this.#capture;
  }

  *body(text: string): Steps<string> {
    if (isLong(text)) yield;
    return yield* this.redactedBody(this.#options.redact(text));
  }

  *redactedBody(text: string): Steps<string> {
    this.#refuseClosed();
    if (isLong(text)) yield;
    // A half of a character would become another one in UTF-8, and its hash that of another text.
    const redacted = text.toWellFormed();
    if (isLong(text)) yield;
    const bytes = Buffer.byteLength(redacted);
    const encoded = bytes > maxInline ? Buffer.from(redacted) : redacted;
    if (isLong(text)) yield;
    const sha256 = sha256Hex(encoded);
    if (this.#knows(sha256)) return sha256;
    if (isLong(text)) yield;
    this.#keep(sha256, encoded, bytes);
    return sha256;
  }

  append(record: NewRecord): void {
    this.#refuseClosed();
    const at = 'at' in record ? record.at : timedKinds.has(record.k) ? this.#options.clock.now() : undefined;
    // Time and place go first, where readers look for them.
    const place = 'e' in record ? { e: record.e } : {};
    const timed = Object.assign({ k: record.k }, at === undefined ? {} : { at }, place, record);
    // The last line is the end of the session, and an index right before it.
    if (record.k === 'close') this.#write(this.#index.record());
    this.#write(timed as RecordOf<RecordKind>);
    if (this.#index.isDue) this.#write(this.#index.record());
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    try {
      this.#writeHeld();
    } finally {
      closeSync(this.#fd);
    }
  }

  /** Whether the text is kept; from now on it is. */
  #knows(sha256: string): boolean {
    const isKept = this.#kept.delete(sha256);
    this.#kept.add(sha256);
    const [oldest] = this.#kept;
    if (this.#kept.size > maxKnown && oldest !== undefined) this.#kept.delete(oldest);
    return isKept;
  }

  /** `text` are the bytes of one that is longer than a line may hold. */
  #keep(sha256: string, text: string | Buffer, bytes: number): void {
    const known = { k: 'body', sha256, bytes } as const;
    if (this.#capture === 'meta') {
      this.#hold(known);
    } else if (bytes > this.#options.limits.maxBody) {
      this.#hold({ ...known, cut: endsOf(typeof text === 'string' ? Buffer.from(text) : text) });
    } else if (this.#size + this.#heldBytes.length + this.#bodyBytes + bytes > this.#options.limits.maxBytes) {
      this.#capture = 'meta';
      this.#hold(known);
      this.#options.onFull();
    } else if (typeof text === 'string') {
      this.#hold({ k: 'body', sha256, bytes, data: text });
    } else {
      this.#keepFile(sha256, text);
      this.#bodyBytes += bytes;
      this.#hold({ ...known, file: true });
    }
  }

  #keepFile(sha256: string, bytes: Buffer): void {
    try {
      this.#leaveSpare(bytes.length);
      this.#attempt(() => this.#writeFile(sha256, bytes));
    } catch (error) {
      this.#kept.delete(sha256);
      throw error;
    }
  }

  /** Under another name first: a file of `bodies/` is whole. */
  #writeFile(sha256: string, bytes: Buffer): void {
    const directory = join(this.#options.directory, bodiesDirectory);
    try {
      mkdirSync(directory, { mode: 0o700 });
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
    }
    const file = new TemporaryFile(directory, 0o600);
    try {
      writeFileSync(file.fd, bytes);
      file.keepAs(join(directory, sha256));
    } finally {
      file.close();
    }
  }

  #write(record: RecordOf<RecordKind>): void {
    this.#hold(record);
    this.#writeHeld();
  }

  #hold(record: RecordOf<RecordKind>): void {
    const { n, chain } = this.#place;
    // Bodies are redacted, an index brings nothing of its own.
    const isOwn = record.k === 'body' || record.k === 'index';
    const json = isOwn ? JSON.stringify(record) : redactedRecord(record, this.#options.redact);
    const held = this.#heldBytes;
    this.#place = { n: n + 1, chain: held.add(n, json, chain) };
    this.#held.push({ record, at: { n, chain }, end: held.length });
    if (record.k === 'body' && held.length > maxInline) this.#writeHeld();
  }

  #writeHeld(): void {
    const held = this.#held;
    const [first] = held;
    if (first === undefined) return;
    this.#held = [];
    const bytes = this.#heldBytes.take();
    try {
      this.#leaveSpare(bytes.length);
      this.#attempt(() => appendWhole(this.#fd, [bytes]));
    } catch (error) {
      this.#place = first.at;
      for (const { record } of held) if (record.k === 'body') this.#kept.delete(record.sha256);
      throw error;
    }
    let from = this.#size;
    for (const { record, end } of held) {
      const to = this.#size + end;
      this.#index.note(record, from, to);
      from = to;
    }
    this.#size = from;
  }

  /** The disk is asked again after a quarter of what has to stay. */
  #leaveSpare(bytes: number): void {
    const { directory, limits } = this.#options;
    const { spare = 0 } = limits;
    this.#unasked -= bytes;
    if (spare === 0 || this.#unasked > 0) return;
    this.#unasked = spare / 4;
    const { bavail, bsize } = this.#attempt(() => statfsSync(directory));
    if (bavail * bsize >= spare + bytes) return;
    throw new Diagnostic('E-IO-006', `less than ${spare} bytes are left on the disk of ${directory}`, {
      hint: 'free space on the disk, or set trace.capture: none',
    });
  }

  #refuseClosed(): void {
    if (this.#isOpen) return;
    throw new Diagnostic(
      'E-IO-006',
      `the journal ${this.#path} is closed: the session ${this.#options.session} has ended`,
    );
  }

  #attempt<Value>(work: () => Value): Value {
    try {
      return work();
    } catch (error) {
      if (!isSystemError(error)) throw error;
      throw new Diagnostic('E-IO-006', `the journal ${this.#path} cannot be written: ${systemReason(error)}`, {
        hint: 'free space on the disk or make the directory writable, then run the capsule again',
        cause: error,
      });
    }
  }
}

/** The kinds that have `at`. */
const timedKinds: ReadonlySet<string> = new Set<RecordKind>([
  'open',
  'task',
  'task-end',
  'start',
  'end',
  'in',
  'close',
]);

/** Both ends of a text, which is longer than they are, as far as they are whole characters. */
function endsOf(bytes: Buffer): { readonly head: string; readonly tail: string } {
  let head = endBytes;
  while (isWithin(bytes, head)) head -= 1;
  let tail = bytes.length - endBytes;
  while (isWithin(bytes, tail)) tail += 1;
  return { head: bytes.toString('utf8', 0, head), tail: bytes.toString('utf8', tail) };
}

/** Whether a place in UTF-8 is within a character. */
function isWithin(bytes: Buffer, at: number): boolean {
  return ((bytes[at] ?? 0) & 0xc0) === 0x80;
}
