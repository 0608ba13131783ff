/** The index of a journal: by which a step or a body is found from the end of the file. */

import type { JournalRecord, RecordKind, RecordOf } from './records.ts';

/** An index is written after so many records, or so many bytes of them. */
export const indexedRecords = 256;
export const indexedBytes: number = 1024 * 1024;

/** How many digits of a hash an index holds. */
export const indexedDigits = 16;

/** What `IndexBuilder` looks at in a record. */
type Indexed = { readonly k: RecordKind; readonly e?: string; readonly sha256?: string };

/** Gathers what the next index says. It is told of each record once that stands in the file. */
export class IndexBuilder {
  #steps: [number, number, number | null][] = [];
  #bodies: [string, number][] = [];
  #ended: [number, number][] = [];
  #before: number | null = null;
  #records = 0;
  #from = 0;
  #stepCount = 0;
  /** Numbers of the steps that have begun and not ended, by their places. */
  readonly #open = new Map<string, number>();

  /** A record stands at `offset`, and the next one begins at `end`. */
  note(record: Indexed, offset: number, end: number): void {
    if (record.k === 'index') {
      this.#restart(offset, end);
      return;
    }
    this.#records += 1;
    this.#end = end;
    if (record.k === 'body') this.#bodies.push([(record.sha256 ?? '').slice(0, indexedDigits), offset]);
    if (record.k === 'start') this.#begin(record.e ?? '', offset);
    if (record.k === 'end') this.#finish(record.e ?? '', offset);
  }

  #end = 0;

  /** Whether enough has come since the last one. */
  get isDue(): boolean {
    return this.#records >= indexedRecords || this.#end - this.#from >= indexedBytes;
  }

  /** The record to write now. */
  record(): RecordOf<'index'> {
    return { k: 'index', steps: this.#steps, bodies: this.#bodies, ended: this.#ended, before: this.#before };
  }

  #restart(offset: number, end: number): void {
    this.#steps = [];
    this.#bodies = [];
    this.#ended = [];
    this.#before = offset;
    this.#records = 0;
    this.#from = this.#end = end;
  }

  #begin(place: string, offset: number): void {
    this.#stepCount += 1;
    this.#open.set(place, this.#stepCount);
    this.#steps.push([this.#stepCount, offset, null]);
  }

  #finish(place: string, offset: number): void {
    const number = this.#open.get(place);
    if (number === undefined) return;
    this.#open.delete(place);
    const entry = this.#steps.find(([step]) => step === number);
    if (entry === undefined) this.#ended.push([number, offset]);
    else entry[2] = offset;
  }
}

/** An index as a search reads it: a journal has thousands, and most of them are not about what is looked for. */
export class IndexLine {
  readonly offset: number;
  /** Of the index before it; null in the first. */
  readonly before: number | null;
  /** The number of its first step; null when it has none. */
  readonly firstStep: number | null;
  readonly #line: Buffer;

  /** `line` begins as an index does. */
  constructor(offset: number, line: Buffer) {
    this.offset = offset;
    this.#line = line;
    const [, before] =
      /"before":(null|\d+),"c":"[0-9a-f]{16}"\}$/.exec(line.toString('latin1', line.length - 64)) ?? [];
    this.before = before === undefined || before === 'null' ? null : Number(before);
    const [, first] = /"steps":\[\[(\d+),/.exec(line.toString('latin1', 0, 96)) ?? [];
    this.firstStep = first === undefined ? null : Number(first);
  }

  /** Where the step stands, as far as this index says. */
  step(number: number): { readonly start: number | null; readonly end: number | null } | null {
    if (!this.#line.includes(`[${number},`)) return null;
    const { steps, ended } = this.#parsed();
    const own = steps.find(([step]) => step === number);
    const end = own?.[2] ?? ended.find(([step]) => step === number)?.[1] ?? null;
    return own === undefined && end === null ? null : { start: own?.[1] ?? null, end };
  }

  /** The number of its last step; null when it has none. */
  get lastStep(): number | null {
    return this.firstStep === null ? null : (this.#parsed().steps.at(-1)?.[0] ?? null);
  }

  /** Where bodies stand whose hashes begin as this one does. */
  bodies(sha256: string): readonly number[] {
    const digits = sha256.slice(0, indexedDigits);
    if (!this.#line.includes(`["${digits}",`)) return [];
    return this.#parsed().bodies.flatMap(([prefix, offset]) => (prefix === digits ? [offset] : []));
  }

  #parsed(): JournalRecord<'index'> {
    return JSON.parse(this.#line.toString('utf8')) as JournalRecord<'index'>;
  }
}
