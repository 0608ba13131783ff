/** Reads a journal from its first record to its last, or to the first that is damaged. */

import type { LineFile } from './line-file.ts';
import { firstChain, headOf, isChained } from './record-line.ts';
import { decodeRecord, isRecordKind, type JournalRecord, journalVersion, type RecordKind } from './records.ts';

/** Where a journal cannot be believed any more. What is before it was checked and holds. */
export interface Damage {
  /** The number of the record that is wrong, from 0. */
  readonly record: number;
  /** The byte at which its line begins. */
  readonly byte: number;
  /** What is wrong with it, as a clause. */
  readonly why: string;
}

export interface PlacedRecord<Kind extends RecordKind = RecordKind> {
  readonly record: JournalRecord<Kind>;
  /** The byte at which its line begins. */
  readonly byte: number;
}

/** One walk through a journal, which can go on where it ended once more has been written. */
export class JournalScan<Kind extends RecordKind = RecordKind> {
  readonly #file: LineFile;
  readonly #kinds: ReadonlySet<RecordKind> | null;
  #chain = firstChain;
  #n = 0;
  #byte = 0;
  #damage: Damage | null = null;

  /** Only number, chain and kind are looked at in records of other kinds than these. */
  constructor(file: LineFile, kinds?: readonly Kind[]) {
    this.#file = file;
    this.#kinds = kinds === undefined ? null : new Set(kinds);
  }

  get damage(): Damage | null {
    return this.#damage;
  }

  /** Number of records that hold. */
  get count(): number {
    return this.#n;
  }

  /** The byte behind the last record that holds. */
  get end(): number {
    return this.#byte;
  }

  /** Records from where the last walk ended to the last line feed there is. After damage nothing follows. */
  *records(): Generator<PlacedRecord<Kind>> {
    if (this.#damage !== null) return;
    const lines = this.#file.lines(this.#byte);
    for (let next = lines.next(); ; next = lines.next()) {
      if (next.done === true) {
        if (next.value.fault !== null) this.#fail(next.value.fault);
        return;
      }
      const { offset, line } = next.value;
      const record = this.#take(line);
      if (typeof record === 'string') {
        this.#fail(record);
        return;
      }
      this.#byte = offset + line.length + 1;
      if (record !== null) yield { record: record as unknown as JournalRecord<Kind>, byte: offset };
    }
  }

  /** The record, null for one that is not asked for, or what is wrong with the line. */
  #take(line: Buffer): JournalRecord | null | string {
    const head = headOf(line);
    if (head === null) return 'does not begin and end as a record does';
    if (head.n !== this.#n) return `has number ${head.n}`;
    if (!isChained(line, head, this.#chain)) return 'does not fit the chain';
    const { kind } = head;
    if (head.n === 0 && kind !== 'open') return 'is not the record open, with which a journal begins';
    const version = kind === 'open' ? versionOf(line) : journalVersion;
    if (version !== journalVersion)
      return `is of version ${version} of the format, and this svc knows ${journalVersion}`;
    if (!isRecordKind(kind)) return `is of the unknown kind ${kind}`;
    const isWanted = this.#kinds === null || this.#kinds.has(kind) || head.n === 0;
    const record = isWanted ? decodeRecord(line.toString('utf8'), kind) : null;
    if (typeof record === 'string') return record;
    this.#n += 1;
    this.#chain = head.chain;
    return this.#kinds === null || this.#kinds.has(kind) ? record : null;
  }

  #fail(why: string): void {
    this.#damage = { record: this.#n, byte: this.#byte, why };
  }
}

/** The version that a record `open` says; text for one that cannot be compared. */
function versionOf(line: Buffer): number | string {
  const [, version = 'unknown'] = /"version":(\d{1,9})[,}]/.exec(line.toString('latin1')) ?? [];
  return Number(version) === journalVersion ? journalVersion : version;
}
