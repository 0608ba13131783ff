/** Takes single values out of lines that anybody may have written: each is looked at before it is used. */

import { type Digits, exactJson, withDigits } from '@svc/kit/exact-json.ts';
import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { maxShown } from '@svc/protocol/shown-text.ts';

/** No duration, size or count of a session is greater. */
export const maxCounted = 1e13;

/** A number from 0 to `most`; 0 for anything else. */
export function countIn(value: unknown, most: number = maxCounted): number {
  return typeof value === 'number' && value >= 0 && value <= most ? value : 0;
}

/** A number from 0 on within bounds; null for anything else. */
export function countOrNull(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= maxCounted ? value : null;
}

/** The beginning of a text. It may be kept for long: the engine makes a part of a text by holding all of it, so what is cut is copied. */
export function keptText(text: string, longest: number): string {
  return text.length > longest ? Buffer.from(text.slice(0, longest)).toString() : text;
}

/** The beginning of a text; '' for anything else. */
export function textIn(value: unknown, longest = 160): string {
  return typeof value === 'string' ? keptText(value, longest) : '';
}

/** The beginning of a text that is there and not empty; null for anything else. */
export function textOrNull(value: unknown, longest = 160): string | null {
  return typeof value === 'string' && value !== '' ? keptText(value, longest) : null;
}

/** The texts of a list, as many as a person would read; none of anything else. */
export function textsIn(value: unknown, most = 500, longest = 300): readonly string[] {
  const texts: string[] = [];
  for (const each of Array.isArray(value) ? (value as readonly unknown[]).slice(0, most) : []) {
    if (typeof each === 'string') texts.push(keptText(each, longest));
  }
  return texts;
}

/** The objects of a list, as many as a person would read. */
export function objectsIn(value: unknown, most = 500): readonly JsonObject[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly unknown[])
    .slice(0, most)
    .map(asJsonObject)
    .filter((each) => each !== null);
}

/** What a key of an object holds, where the value is an object. */
export function objectIn(value: unknown): JsonObject {
  return asJsonObject(value) ?? {};
}

/** How many values are looked at for one row; many may be empty. */
const maxLooked = 200;

/** Where a value lies in a line, for its numbers that JavaScript rounds. */
export interface PlaceInLine {
  readonly digits: () => Digits | undefined;
  /** The JSON pointer of the value. */
  readonly pointer: string;
}

/** The digits of a line, looked for when they are first asked for: most rows show no such number. */
export function digitsOnce(line: string): () => Digits | undefined {
  let found: Digits | undefined;
  let isKnown = false;
  return () => {
    if (!isKnown) [found, isKnown] = [digitsIn(line), true];
    return found;
  };
}

/** Returns the digits of the numbers in a line that can be shown whole. */
function digitsIn(line: string): Digits | undefined {
  if (line.length > maxShown) return undefined;
  try {
    return exactJson(line)?.digits;
  } catch (error) {
    // It nests too deep.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** How a value reads in one row: `longest` characters and four levels at most, whatever it is. */
export function preview(value: unknown, longest = 160, place?: PlaceInLine): string {
  const preview = new Preview(longest, place?.digits ?? (() => undefined));
  return keptText(preview.of(value, 4, { up: null, key: place?.pointer ?? '' }), longest);
}

/** A number of a line as it stands there. */
export function exactNumber(value: number, { digits, pointer }: PlaceInLine): string {
  return Number.isSafeInteger(value) ? String(value) : (digits()?.[pointer] ?? String(value));
}

interface Place {
  readonly up: Place | null;
  readonly key: string | number;
}

class Preview {
  readonly #longest: number;
  readonly #digits: () => Digits | undefined;
  #left = maxLooked;

  constructor(longest: number, digits: () => Digits | undefined) {
    this.#longest = longest;
    this.#digits = digits;
  }

  of(value: unknown, levels: number, place: Place): string {
    if (typeof value === 'string') return keptText(value, this.#longest);
    if (typeof value === 'number') return exactNumber(value, { digits: this.#digits, pointer: pointerOf(place) });
    if (typeof value !== 'object' || value === null) return value === undefined ? '' : `${value as boolean | null}`;
    if (levels === 0) return '…';
    let shown = '';
    const isFull = (): boolean => shown.length > this.#longest || this.#left === 0;
    const add = (key: string | number, inner: unknown): void => {
      this.#left -= 1;
      const isNamed = typeof key === 'string';
      const between = shown === '' ? '' : isNamed ? ', ' : ' ';
      shown += `${between}${isNamed ? `${keptText(key, 60)}: ` : ''}${this.of(inner, levels - 1, { up: place, key })}`;
    };
    if (Array.isArray(value)) {
      // By `for … in`, each place of a long list would become a text first.
      for (let at = 0; at < value.length && !isFull(); at += 1) add(at, value[at]);
      return shown;
    }
    for (const key in value) {
      if (isFull()) break;
      add(key, (value as JsonObject)[key]);
    }
    return shown;
  }
}

function pointerOf({ up, key }: Place): string {
  return up === null ? String(key) : `${pointerOf(up)}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Limit for white space in the JSON of a value in lines; nobody nests so deep as to need more. */
const maxSpaces = 4 * 1024 * 1024;

/** The JSON of a value in lines, or in one line where it nests so deep that most would be white space; null where it nests too deep to be written. */
export function prettyJson(value: unknown, digits: Digits | undefined): string | null {
  try {
    return withDigits(value, digits, spacesIn(value) > maxSpaces ? 0 : 2) ?? '';
  } catch (error) {
    // Every value here came out of JSON; this one alone cannot be written back as JSON.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** How much white space the lines of a value begin with; endless behind 60 levels. */
function spacesIn(value: unknown, level = 1): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (level > 60) return Infinity;
  let spaces = 0;
  for (const each of Object.values(value)) {
    spaces += 2 * level + spacesIn(each, level + 1);
    if (spaces > maxSpaces) return Infinity;
  }
  return spaces;
}
