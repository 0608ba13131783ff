/** Reads the journal of a session: as a whole, or one step or body of it from the end of the file. */

import { isUtf8 } from 'node:buffer';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { bodyFile } from './body-file.ts';
import type { BodyReading } from './body-reading.ts';
import { LineFile, openOwn } from './line-file.ts';
import {
  indexedBytes,
  indexedRecords,
  indexHeadBytes,
  BodyPlaces,
  IndexLine,
  type IndexSource,
} from './journal-index.ts';
import { type Damage, JournalScan } from './journal-scan.ts';
import { skim, type SkimmedRecord } from './journal-skim.ts';
import { journalFile } from './journal-writer.ts';
import { chainAt, chainBefore, firstChain, headOf, isChained } from './record-line.ts';
import {
  decodeRecord,
  type EndRecord,
  isRecordKind,
  type JournalRecord,
  type RecordKind,
  type StartRecord,
} from './records.ts';

/** One effect of a session. */
export interface Step {
  /** From 1, in the order of the file. */
  readonly number: number;
  readonly start: StartRecord;
  /** Is null while it goes on, and where the session ended in it. */
  readonly end: EndRecord | null;
  /** The bytes at which the two begin. */
  readonly startByte: number;
  readonly endByte: number | null;
}

/** An index is never further from the end than this, unless the file is no journal. */
const maxTail = 8 * indexedBytes;
const firstTail = 64 * 1024;
/** How many indexes from a step back are looked through first. */
const nearIndexes = 4;

interface TailLine {
  readonly byte: number;
  readonly kind: RecordKind;
  readonly line: Buffer;
}

export type { BodyReading } from './body-reading.ts';

export class JournalReader {
  readonly #directory: HeldDirectory;
  readonly #file: LineFile;
  readonly #owner: number | null;
  #tail: { readonly lines: readonly TailLine[]; readonly index: IndexLine | null } | null = null;
  /** The byte of the step that was asked for last; texts of one are mostly near to it. */
  #near = Infinity;
  /** From the newest back, as far as they were needed. */
  #indexes: IndexLine[] = [];
  #tailBodies: BodyPlaces | null = null;
  /** Those up to the first index. */
  #earliest: BodyPlaces | null = null;
  /** Bodies of the indexes that a search passed, and the indexes that none did. */
  #passedBodies = new BodyPlaces();
  #unpassed: Iterator<IndexLine, void> | null = null;

  private constructor(directory: HeldDirectory, file: LineFile, owner: number | null) {
    this.#directory = directory;
    this.#file = file;
    this.#owner = owner;
  }

  /**
   * Opens the journal of a session; null when it has none. Links, and files of others than `owner` where that is not null, are `E-RUN-072`.
   * The directory stays the caller's and has to be open for as long as the reader is, which the caller closes.
   */
  static open(directory: HeldDirectory, owner: number | null): JournalReader | null {
    const fd = openOwn(directory, journalFile, owner);
    return fd === null ? null : new JournalReader(directory, new LineFile(fd), owner);
  }

  /** Bytes of the journal itself; its bodies in files are not counted. */
  get size(): number {
    return this.#file.size;
  }

  get bytesRead(): number {
    return this.#file.bytesRead;
  }

  /** The first bytes of the journal itself. */
  bytesUpTo(end: number): Buffer {
    return this.#file.readAt(0, end);
  }

  /** Looks at the file anew: a session that runs has written more. */
  renew(): void {
    this.#tail = this.#tailBodies = this.#earliest = this.#unpassed = null;
    this.#indexes = [];
    this.#passedBodies = new BodyPlaces();
  }

  /** A walk through all records, or those of some kinds, from the first. */
  scan<Kind extends RecordKind = RecordKind>(kinds?: readonly Kind[]): JournalScan<Kind> {
    return new JournalScan(this.#file, kinds);
  }

  /** What a comparison needs of all steps; `onDamage` receives where that ends before the journal does. */
  skim(onDamage: (damage: Damage) => void): Generator<SkimmedRecord> {
    return skim(this.#file, onDamage);
  }

  /** The records that a journal begins with: `open`, and `setup` once it is written. Returns null when the first is no `open` of a known version. */
  opening(): { readonly open: JournalRecord<'open'>; readonly setup: JournalRecord<'setup'> | null } | null {
    const scan = this.scan(['open', 'setup', 'start']);
    let open: JournalRecord<'open'> | null = null;
    for (const { record } of scan.records()) {
      if (record.k === 'open') open ??= record;
      else return open === null ? null : { open, setup: record.k === 'setup' ? record : null };
    }
    return open === null ? null : { open, setup: null };
  }

  /** The record `close` of a session that has ended well; null for any other. */
  closing(): JournalRecord<'close'> | null {
    const last = this.#tailLines().lines.at(-1);
    if (last?.kind !== 'close') return null;
    return this.#record(last.byte, 'close', last.line);
  }

  /** The number of the last step; 0 before the first. Little of a long journal is read for it. */
  lastStep(): number {
    const { lines } = this.#tailLines();
    return this.#indexedSteps() + lines.filter(({ kind }) => kind === 'start').length;
  }

  /** One step, found from the end of the file; null if no step has that number. `E-RUN-073` where the journal is damaged. */
  step(number: number): Step | null {
    const { lines } = this.#tailLines();
    const before = this.#indexedSteps();
    const found =
      number > before
        ? { start: lines.filter(({ kind }) => kind === 'start')[number - before - 1]?.byte ?? null, end: null }
        : this.#indexed(number);
    if (found.start === null) return null;
    this.#near = found.start;
    const start = this.#record(found.start, 'start');
    const end =
      found.end === null ? this.#endInTail(start) : { byte: found.end, record: this.#record(found.end, 'end') };
    if (end !== null && end.record.e !== start.e)
      throw damaged({ record: end.record.n, byte: end.byte, why: 'ends another step' });
    return { number, start, end: end?.record ?? null, startByte: found.start, endByte: end?.byte ?? null };
  }

  /** Records between the two ends of a step, as far as `maxBytes` of the journal reach. */
  *within(step: Step, maxBytes: number): Generator<JournalRecord<'ask'>> {
    const until = Math.min(step.endByte ?? Infinity, step.startByte + maxBytes);
    for (const { offset, line } of this.#file.lines(step.startByte)) {
      if (offset >= until) return;
      const kind = headOf(line)?.kind;
      if (kind !== 'ask') continue;
      const record = this.#record(offset, kind);
      if (record.e === step.start.e) yield record;
    }
  }

  /** A text by its hash, found from the end of the file and held to the hash. `E-RUN-073` where the journal is damaged on the way. */
  body(sha256: string): BodyReading {
    for (const byte of this.#bodyPlaces(sha256)) {
      const record = this.#record(byte, 'body');
      if (record.sha256 === sha256) return this.#text(record);
    }
    return { kind: 'damaged', why: 'the journal has no such text' };
  }

  close(): void {
    this.#file.close();
  }

  /**
   * Where most texts are looked for first: about the last step that was asked for, then at the start of the file. What was looked through is
   * kept, so that the texts of all steps of a long journal are found in one pass over its indexes.
   */
  *#bodyPlaces(sha256: string): Generator<number> {
    this.#tailBodies ??= bodiesOf(this.#tailLines().lines);
    yield* this.#tailBodies.at(sha256);
    let left = nearIndexes;
    for (const index of this.#indexesBack()) {
      if (left === 0) break;
      if (index.before !== null && index.before > this.#near) continue;
      left -= 1;
      yield* index.bodies().at(sha256);
    }
    this.#earliest ??= bodiesOf(this.#linesToFirstIndex());
    yield* this.#earliest.at(sha256);
    yield* this.#passedBodies.at(sha256);
    this.#unpassed ??= this.#indexesBack();
    for (let next = this.#unpassed.next(); next.done !== true; next = this.#unpassed.next()) {
      const { value: index } = next;
      this.#passedBodies.addAll(index.bodies());
      yield* index.bodies().at(sha256);
    }
  }

  *#linesToFirstIndex(): Generator<TailLine> {
    let count = 0;
    for (const { offset: byte, line } of this.#file.lines(0)) {
      count += 1;
      const kind = headOf(line)?.kind ?? '';
      if (!isRecordKind(kind) || kind === 'index' || count > indexedRecords) return;
      yield { byte, kind, line };
    }
  }

  #text(record: JournalRecord<'body'>): BodyReading {
    const { sha256, bytes, data, file, cut } = record;
    if (cut !== undefined) return { kind: 'cut', bytes, ...cut };
    if (data === undefined && file === undefined) return { kind: 'not kept', bytes };
    const kept = data === undefined ? bodyFile(this.#directory, { sha256, bytes }, this.#owner) : Buffer.from(data);
    if (typeof kept === 'string') return { kind: 'damaged', why: kept };
    if (sha256Hex(kept) !== sha256) return { kind: 'damaged', why: 'the text has another hash' };
    if (!isUtf8(kept)) return { kind: 'damaged', why: 'the text is not UTF-8' };
    return { kind: 'text', text: kept.toString('utf8') };
  }

  #indexed(number: number): { readonly start: number | null; readonly end: number | null } {
    const newer: IndexLine[] = [];
    for (const index of this.#indexesBack()) {
      if (index.firstStep === null || index.firstStep > number) {
        newer.push(index);
        continue;
      }
      const found = index.step(number);
      if (found === null || found.start === null) break;
      if (found.end !== null) return found;
      // Most steps end soon after.
      for (const later of newer.toReversed()) {
        const end = later.step(number)?.end ?? null;
        if (end !== null) return { start: found.start, end };
      }
      return found;
    }
    return { start: null, end: null };
  }

  #endInTail({ e }: StartRecord): { readonly byte: number; readonly record: EndRecord } | null {
    for (const { kind, byte, line } of this.#tailLines().lines) {
      if (kind !== 'end') continue;
      const record = this.#record(byte, 'end', line);
      if (record.e === e) return { byte, record };
    }
    return null;
  }

  /** The number of the last step that an index knows. */
  #indexedSteps(): number {
    for (const { lastStep } of this.#indexesBack()) if (lastStep !== null) return lastStep;
    return 0;
  }

  *#indexesBack(): Generator<IndexLine> {
    const newest = this.#tailLines().index;
    if (newest === null) return;
    if (this.#indexes.length === 0) this.#indexes.push(newest);
    for (let at = 0; ; at += 1) {
      const index = this.#indexes[at] ?? this.#indexBefore(this.#indexes[at - 1]?.before ?? null);
      if (index === null) return;
      if (at === this.#indexes.length) this.#indexes.push(index);
      yield index;
    }
  }

  #indexBefore(byte: number | null): IndexLine | null {
    if (byte === null) return null;
    if (byte >= this.#file.size) throw damaged({ record: 0, byte, why: 'is behind the end of the file' });
    const head = this.#file.readAt(byte, indexHeadBytes);
    const index = new IndexLine(byte, head, this.#sourceOf(byte));
    // Backwards only, so that no journal leads a reader in a circle.
    if (index.before !== null && index.before >= byte) {
      const { n = 0 } = headOf(this.#line(byte, 'index')) ?? {};
      throw damaged({ record: n, byte, why: 'leads forward' });
    }
    return index;
  }

  #sourceOf(byte: number): IndexSource {
    return { line: () => this.#line(byte, 'index'), record: (line) => this.#record(byte, 'index', line) };
  }

  /** What has been written since the last index, and that index. */
  #tailLines(): { readonly lines: readonly TailLine[]; readonly index: IndexLine | null } {
    this.#tail ??= this.#readTail();
    return this.#tail;
  }

  #readTail(): { readonly lines: readonly TailLine[]; readonly index: IndexLine | null } {
    const { size } = this.#file;
    for (let length = firstTail; ; length *= 4) {
      const from = Math.max(0, size - length);
      const bytes = this.#file.readAt(from, size - from);
      const start = from === 0 ? 0 : bytes.indexOf('\n') + 1;
      const lines: TailLine[] = [];
      for (let end = bytes.lastIndexOf('\n'); end > 0;) {
        const before = bytes.lastIndexOf('\n', end - 1);
        if (before + 1 < start) break;
        const line = bytes.subarray(before + 1, end);
        const byte = from + before + 1;
        const kind = headOf(line)?.kind ?? '';
        if (kind === 'index')
          return {
            lines: this.#chained(lines.toReversed(), line),
            index: new IndexLine(byte, line, this.#sourceOf(byte)),
          };
        if (!isRecordKind(kind)) throw damaged({ record: headOf(line)?.n ?? 0, byte, why: 'is no record' });
        lines.push({ byte, kind, line });
        end = before;
      }
      if (from === 0) return { lines: this.#chained(lines.toReversed(), null), index: null };
      if (length > maxTail) throw damaged({ record: 0, byte: from, why: 'is far from any index' });
    }
  }

  /** Holds the lines behind an index, or behind the start of the file, to their chain. */
  #chained(lines: readonly TailLine[], index: Buffer | null): readonly TailLine[] {
    let chain = (index === null ? null : headOf(index)?.chain) ?? firstChain;
    for (const { line, byte } of lines) {
      const head = headOf(line);
      if (head === null || !isChained(line, head, chain)) {
        throw damaged({ record: head?.n ?? 0, byte, why: 'does not fit the chain' });
      }
      ({ chain } = head);
    }
    return lines;
  }

  /** The record at a byte, held to the chain of the line before it. */
  #record<Kind extends RecordKind>(byte: number, kind: Kind, known?: Buffer): JournalRecord<Kind> {
    const line = known ?? this.#line(byte, kind);
    const record = decodeRecord(line.toString('utf8'), kind);
    if (typeof record === 'string') throw damaged({ record: headOf(line)?.n ?? 0, byte, why: record });
    return record;
  }

  #line(byte: number, kind: RecordKind): Buffer {
    const before = Math.min(byte, chainBefore);
    const chain = byte === 0 ? firstChain : chainAt(this.#file.readAt(byte - before, before));
    const line = this.#file.lineAt(byte);
    const head = line === null ? null : headOf(line);
    if (line === null || head === null || chain === null || head.kind !== kind) {
      throw damaged({ record: head?.n ?? 0, byte, why: `is no record ${kind}` });
    }
    if (!isChained(line, head, chain)) throw damaged({ record: head.n, byte, why: 'does not fit the chain' });
    return line;
  }
}

/** Where the bodies among these lines stand. */
function bodiesOf(lines: Iterable<TailLine>): BodyPlaces {
  const places = new BodyPlaces();
  for (const { kind, byte, line } of lines) {
    if (kind !== 'body') continue;
    const [, sha256] = /"sha256":"([0-9a-f]{64})"/.exec(line.toString('latin1')) ?? [];
    if (sha256 !== undefined) places.add(sha256, byte);
  }
  return places;
}

/** `E-RUN-073`, with the place. */
export function damaged({ record, byte, why }: Damage): Diagnostic {
  return new Diagnostic('E-RUN-073', `the journal is damaged: record ${record}, at byte ${byte}, ${why}`, {
    hint: 'what stands before it can be read: svc trace steps shows it',
  });
}
