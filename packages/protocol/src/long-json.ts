/** Reads JSON of megabytes in steps of a few milliseconds, so that nothing else waits until it is read. */

import { JsonShape, parsedJson, type JsonText } from './json-text.ts';
import { strictUtf8Pieces } from './strict-utf8.ts';

/** What one step reads, in bytes or in characters of the text. */
const stepLength = 1024 * 1024;
const [backslash, letterU] = [0x5c, 0x75];

/**
 * The value of a JSON text in UTF-8, which may hold `maxValues` values; yields after each step. The value is the one of `JSON.parse`, which takes
 * tens of milliseconds for ten megabytes of escapes: here each string is parsed by itself, a long one in slices, and the rest of the text afterwards.
 */
export function* readLongJson(bytes: Uint8Array, maxValues: number): Generator<void, JsonText> {
  const quotes: number[] = [];
  const shape = new JsonShape(maxValues, quotes);
  const decode = strictUtf8Pieces();
  let text = '';
  for (let from = 0; from < bytes.length; from += stepLength) {
    const isLast = from + stepLength >= bytes.length;
    const piece = decode(bytes.subarray(from, from + stepLength), isLast);
    if (piece === null) return { kind: 'not-json' };
    const verdict = shape.add(piece, 0, piece.length);
    if (verdict !== 'fits') return { kind: verdict };
    // Each value and each key is at most one string: more quotes than theirs are no JSON, and would fill the list.
    if (quotes.length > 4 * (maxValues + 1)) return { kind: 'not-json' };
    text += piece;
    yield;
  }
  return text.length <= stepLength ? parsedJson(text) : yield* parseInSteps(text, quotes);
}

/** `quotes` has the index of each quote that begins or ends a string. */
function* parseInSteps(text: string, quotes: readonly number[]): Generator<void, JsonText> {
  if (quotes.length % 2 !== 0) return { kind: 'not-json' };
  const strings: string[] = [];
  let numbered = '';
  let [copied, read] = [0, 0];
  for (let index = 0; index < quotes.length; index += 2) {
    const [opening = 0, closing = 0] = [quotes[index], quotes[index + 1]];
    const slices: string[] = [];
    for (let from = opening + 1; from < closing || slices.length === 0;) {
      const to = endOfSlice(text, from, closing);
      const slice = parsedJson(`"${text.slice(from, to)}"`);
      if (slice.kind !== 'json') return slice;
      slices.push(String(slice.value));
      read += to - from;
      if (read >= stepLength) {
        read = 0;
        yield;
      }
      from = to;
    }
    // A letter goes before the number: names that are whole numbers would come before all others of their object.
    numbered += `${text.slice(copied, opening)}"s${strings.push(slices.join('')) - 1}"`;
    copied = closing + 1;
  }
  const rest = parsedJson(numbered + text.slice(copied));
  yield;
  if (rest.kind !== 'json') return rest;
  const value = withStrings(rest.value, strings);
  yield;
  return { kind: 'json', value };
}

/** The index after the slice, which ends behind an escape and not within it. */
function endOfSlice(text: string, from: number, closing: number): number {
  const wanted = Math.min(from + stepLength, closing);
  if (wanted === closing) return closing;
  let index = from;
  while (index < wanted) {
    if (text.charCodeAt(index) !== backslash) index += 1;
    else index += text.charCodeAt(index + 1) === letterU ? 6 : 2;
  }
  return Math.min(index, closing);
}

/** The value with its strings in the place of their numbers; names that come twice are one, as `JSON.parse` has it. */
function withStrings(value: unknown, strings: readonly string[]): unknown {
  const stringOf = (numbered: string): string => strings[Number(numbered.slice(1))] ?? '';
  const restored = (each: unknown): unknown => {
    if (typeof each === 'string') return stringOf(each);
    if (typeof each !== 'object' || each === null) return each;
    if (Array.isArray(each)) return each.map(restored);
    return Object.fromEntries(Object.entries(each).map(([name, member]) => [stringOf(name), restored(member)]));
  };
  return restored(value);
}
