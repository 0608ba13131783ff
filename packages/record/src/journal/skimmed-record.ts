/** Takes what a comparison of long sessions needs from a line of a journal, without parsing the line. */

import { decodeRecord } from './records.ts';

const hashDigits = 64;
/** The length of one hash in a list, with its quotes and the comma behind it. */
const listedBytes = hashDigits + 3;

/**
 * A `start` record, kept as the text of its line. Each byte is read as one character, which is enough to see whether two texts are the same. A search
 * for a key cannot find it inside a value, since quotes are escaped there.
 */
export class SkimmedStart {
  readonly k = 'start';
  readonly e: string;
  /** All other keys with their values. */
  readonly rest: string;
  readonly isModel: boolean;
  readonly #at: string;

  constructor(at: string, e: string, rest: string) {
    this.#at = at;
    this.e = e;
    this.rest = rest;
    this.isModel = rest.startsWith(',"port":"model"') || rest.includes('"port":"model"');
  }

  /** Unix milliseconds. */
  get at(): number {
    return Number(this.#at);
  }

  get isHook(): boolean {
    return this.rest.includes('"port":"hook"');
  }

  /** The hash of the fixed part of a request to the model. */
  get fixed(): string {
    return after(this.rest, '"fixed":"').slice(0, hashDigits);
  }

  /** The place of the request that a request to the model extends, or null. */
  get base(): string | null {
    const base = after(this.rest, '"base":"');
    return base === '' ? null : base.slice(0, base.indexOf('"'));
  }

  /** How many messages a request to the model adds. */
  get added(): number {
    return Math.ceil(this.list.length / listedBytes);
  }

  /** The hashes of the messages that a request to the model adds. */
  get add(): readonly string[] {
    const { list } = this;
    return list === '' ? [] : list.slice(1, -1).split('","');
  }

  /** The same hashes as text, as the line has them. */
  get list(): string {
    const list = after(this.rest, '"add":[');
    return list.slice(0, list.indexOf(']'));
  }
}

/** An `end` record, as far as a comparison needs it. */
export class SkimmedEnd {
  readonly k = 'end';
  readonly e: string;
  readonly #at: string;
  /** All other keys with their values. */
  readonly #rest: string;

  constructor(at: string, e: string, rest: string) {
    this.#at = at;
    this.e = e;
    this.#rest = rest;
  }

  /** Unix milliseconds. */
  get at(): number {
    return Number(this.#at);
  }

  /** The hash of the outcome; null without one. */
  get value(): string | null {
    const value = after(this.#rest, '"value":"');
    return value === '' ? null : value.slice(0, hashDigits);
  }
}

function after(text: string, key: string): string {
  const at = text.indexOf(key);
  return at < 0 ? '' : text.slice(at + key.length);
}

/**
 * Makes a record of a part of a line: from the comma behind its kind (`k`) up to its chain (`c`). Returns null when the keys are not in the order in
 * which `svc` writes them.
 */
export function skimmedText(text: string, kind: 'start' | 'end'): SkimmedStart | SkimmedEnd | null {
  if (!text.startsWith(atStart)) return null;
  const comma = text.indexOf(',', atStart.length);
  if (!text.startsWith(placeStart, comma)) return null;
  const end = text.indexOf('"', comma + placeStart.length);
  const e = text.slice(comma + placeStart.length, end);
  if (e.includes('\\')) return null;
  return made(kind, text.slice(atStart.length, comma), e, text.slice(end + 1));
}

const atStart = ',"at":';
const placeStart = ',"e":"';

/** Makes a record of a line whose keys may have any order. For an invalid line, returns what is wrong with it. */
export function skimmedRecord(line: Buffer, kind: 'start' | 'end'): SkimmedStart | SkimmedEnd | string {
  const record = decodeRecord(line.toString('utf8'), kind);
  if (typeof record === 'string') return record;
  const { n: _n, k: _k, c: _c, at, e, ...rest } = record;
  return made(kind, String(at), asBytes(e), asBytes(`,${JSON.stringify(rest).slice(1, -1)}`));
}

function made(kind: 'start' | 'end', at: string, e: string, rest: string): SkimmedStart | SkimmedEnd {
  return kind === 'start' ? new SkimmedStart(at, e, rest) : new SkimmedEnd(at, e, rest);
}

function asBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}
