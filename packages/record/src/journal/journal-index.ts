/** The index of a journal: by which a step or a body is found from the end of the file. */

import type { JournalRecord, RecordKind, RecordOf } from './records.ts';

/** An index is written after so many records, or so many bytes of them. */
export const indexedRecords = 256;
export const indexedBytes: number = 1024 * 1024;

/** How many digits of a hash an index holds. */
export const indexedDigits = 16;

/** What `IndexBuilder` looks at in a record. */
type Indexed = { readonly k: RecordKind; readonly e?: string; readonly sha256?: string };

/** Collects entries for the next index. Call once per record, after it is written. */
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
    return { k: 'index', before: this.#before, steps: this.#steps, bodies: this.#bodies, ended: this.#ended };
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

/** How many bytes of an index say where the one before it is, and which step is its first. */
export const indexHeadBytes = 128;

const headShape = /^\{"n":\d+,"k":"index","before":(null|\d+),"steps":\[(?:\]|\[(\d+),)/;

/** Where an index is read from. Both throw `E-RUN-073` for anything else. */
export interface IndexSource {
  /** The whole line, held to its chain. */
  line(): Buffer;
  record(line: Buffer): JournalRecord<'index'>;
}

/** An index as a search reads it: a journal has thousands, and most of them are only passed. */
export class IndexLine {
  readonly offset: number;
  /** The place of the index before this one; null in the first index. */
  readonly before: number | null;
  /** The number of its first step; null when it has none. */
  readonly firstStep: number | null;
  readonly #source: IndexSource;
  #line: Buffer | null = null;
  #record: JournalRecord<'index'> | null = null;
  #bodies: BodyPlaces | null = null;

  /** `head` are its first bytes. */
  constructor(offset: number, head: Buffer, source: IndexSource) {
    this.offset = offset;
    this.#source = source;
    const [known, before, first] = headShape.exec(head.toString('latin1', 0, indexHeadBytes)) ?? [];
    if (known === undefined) {
      const parsed = this.#parsed();
      this.before = parsed.before;
      this.firstStep = parsed.steps[0]?.[0] ?? null;
    } else {
      this.before = before === 'null' ? null : Number(before);
      this.firstStep = first === undefined ? null : Number(first);
    }
  }

  get #whole(): Buffer {
    this.#line ??= this.#source.line();
    return this.#line;
  }

  /** Where the step stands, as far as this index says. */
  step(number: number): { readonly start: number | null; readonly end: number | null } | null {
    if (!this.#whole.includes(`[${number},`)) return null;
    const { steps, ended } = this.#parsed();
    const own = steps.find(([step]) => step === number);
    const end = own?.[2] ?? ended.find(([step]) => step === number)?.[1] ?? null;
    return own === undefined && end === null ? null : { start: own?.[1] ?? null, end };
  }

  /** The number of its last step; null when it has none. */
  get lastStep(): number | null {
    return this.firstStep === null ? null : (this.#parsed().steps.at(-1)?.[0] ?? null);
  }

  /** Where the bodies stand that it names. */
  bodies(): BodyPlaces {
    this.#bodies ??= this.#placesOfBodies();
    return this.#bodies;
  }

  /** A step is named by numbers alone, so that whatever looks like a body is one. */
  #placesOfBodies(): BodyPlaces {
    const places = new BodyPlaces();
    for (const [, digits = '', byte] of this.#whole.toString('latin1').matchAll(/\["([0-9a-f]{16})",(\d{1,15})\]/g)) {
      places.add(digits, Number(byte));
    }
    return places;
  }

  #parsed(): JournalRecord<'index'> {
    this.#record ??= this.#source.record(this.#whole);
    return this.#record;
  }
}

/** The bytes at which bodies stand, by the first digits of their hashes. */
export class BodyPlaces {
  readonly #places = new Map<string, number[]>();

  add(sha256: string, byte: number): void {
    const digits = sha256.slice(0, indexedDigits);
    const known = this.#places.get(digits);
    if (known === undefined) this.#places.set(digits, [byte]);
    else known.push(byte);
  }

  addAll(others: BodyPlaces): void {
    for (const [digits, bytes] of others.#places) for (const byte of bytes) this.add(digits, byte);
  }

  /** Those whose hashes begin as this one does. */
  at(sha256: string): readonly number[] {
    return this.#places.get(sha256.slice(0, indexedDigits)) ?? [];
  }
}
