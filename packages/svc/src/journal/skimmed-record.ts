/** Takes from a line of a journal what a comparison of long sessions needs, without parsing it. */

import { decodeRecord } from './records.ts';

const hashDigits = 64;
/** A hash of a list, with its quotes and what parts it from the next. */
const listedBytes = hashDigits + 3;

/**
 * A `start` as its text. Bytes are taken for characters: what is compared is only whether two are the same. A key that is looked for cannot
 * be met within a value, where quotes are escaped.
 */
export class SkimmedStart {
  readonly k = 'start';
  /** Unix milliseconds. */
  readonly at: number;
  readonly e: string;
  /** All other keys with their values. */
  readonly rest: string;

  constructor(at: number, e: string, rest: string) {
    this.at = at;
    this.e = e;
    this.rest = rest;
  }

  get isModel(): boolean {
    return this.rest.includes('"port":"model"');
  }

  get isHook(): boolean {
    return this.rest.includes('"port":"hook"');
  }

  /** Of a model: the hash of the fixed part. */
  get fixed(): string {
    return after(this.rest, '"fixed":"').slice(0, hashDigits);
  }

  /** Of a model: the place of the request that it extends; null for none. */
  get base(): string | null {
    const base = after(this.rest, '"base":"');
    return base === '' ? null : base.slice(0, base.indexOf('"'));
  }

  /** Of a model: how many messages it adds. */
  get added(): number {
    return Math.ceil(this.list.length / listedBytes);
  }

  /** Of a model: their hashes. */
  get add(): readonly string[] {
    const { list } = this;
    return list === '' ? [] : list.slice(1, -1).split('","');
  }

  /** Of a model: those as they stand in the line. */
  get list(): string {
    const list = after(this.rest, '"add":[');
    return list.slice(0, list.indexOf(']'));
  }
}

/** An `end` as far as it is looked at. */
export interface SkimmedEnd {
  readonly k: 'end';
  readonly at: number;
  readonly e: string;
  /** The hash of the outcome; null for none. */
  readonly value: string | null;
}

function after(text: string, key: string): string {
  const at = text.indexOf(key);
  return at < 0 ? '' : text.slice(at + key.length);
}

/** The record of a line of this kind, without the chain at its end; what is wrong with it for one that is none. */
export function skimmed(line: Buffer, kind: 'start' | 'end'): SkimmedStart | SkimmedEnd | string {
  const text = line.toString('latin1', 0, line.length - tailBytes);
  return skimmedText(text, kind) ?? parsedAndSkimmed(line, kind);
}

/** `,"c":"0123456789abcdef"}` */
const tailBytes = 24;

/** Null for a text whose keys are not in the order in which `svc` writes them. */
function skimmedText(text: string, kind: 'start' | 'end'): SkimmedStart | SkimmedEnd | null {
  const atKey = text.indexOf('",');
  if (!text.startsWith('"at":', atKey + 2)) return null;
  const comma = text.indexOf(',', atKey + 7);
  if (!text.startsWith(',"e":"', comma)) return null;
  const at = Number(text.slice(atKey + 7, comma));
  const end = text.indexOf('"', comma + 6);
  const e = text.slice(comma + 6, end);
  if (e.includes('\\')) return null;
  if (kind === 'start') return new SkimmedStart(at, e, text.slice(end + 1));
  const value = after(text, '"value":"');
  return { k: 'end', at, e, value: value === '' ? null : value.slice(0, hashDigits) };
}

function parsedAndSkimmed(line: Buffer, kind: 'start' | 'end'): SkimmedStart | SkimmedEnd | string {
  const record = decodeRecord(line.toString('utf8'), kind);
  if (typeof record === 'string') return record;
  const { n: _n, k: _k, c: _c, at, e, ...rest } = record;
  const place = asBytes(e);
  if ('value' in rest) return { k: 'end', at, e: place, value: rest.value };
  return new SkimmedStart(at, place, asBytes(`,${JSON.stringify(rest).slice(1, -1)}`));
}

function asBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}
