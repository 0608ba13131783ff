/** Finds the first place where two JSON values, or texts, differ. */

import { recordedJson } from './recorded-json.ts';

/** Where two values part: a JSON pointer, and both as text there; null for one that has nothing at that place. */
export interface Difference {
  readonly path: string;
  /** The place of the first byte that differs, in the UTF-8 of two strings; null for anything else. */
  readonly byte: number | null;
  readonly a: string | null;
  readonly b: string | null;
}

/** Where two values part: a JSON pointer, and what is there; undefined where one has nothing at that place. */
export interface ValueDifference {
  readonly path: string;
  readonly a: unknown;
  readonly b: unknown;
}

/** Returns null when the texts mean the same. A text that is not JSON is compared as it is. */
export function firstDifference(a: string, b: string): Difference | null {
  const found = valueDifference(parsed(a), parsed(b));
  if (found === null) return null;
  const byte = typeof found.a === 'string' && typeof found.b === 'string' ? firstByte(found.a, found.b) : null;
  return { path: found.path, byte, a: textOf(found.a), b: textOf(found.b) };
}

/**
 * The first difference of two values, in the order of the keys of `a`; null when they are the same as JSON. An undefined key counts as absent, and a
 * whole number too large for JSON is the same as its text.
 */
export function valueDifference(a: unknown, b: unknown, path = ''): ValueDifference | null {
  if (a === b) return null;
  if (!isContainer(a) || !isContainer(b) || Array.isArray(a) !== Array.isArray(b)) {
    return typeof b === 'bigint' && String(b) === String(a) ? null : { path, a, b };
  }
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const below = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const found = valueDifference(own(a, key), own(b, key), below);
    if (found !== null) return found;
  }
  return null;
}

/** What is nested deeper, or holds more, than any value that a session takes in is compared as text. */
function parsed(text: string): unknown {
  const json = recordedJson(text);
  return json.kind === 'json' ? json.value : text;
}

type Container = Readonly<Record<string, unknown>>;

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

function own(value: Container, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function textOf(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The first byte of their UTF-8 in which two texts differ. */
export function firstByte(a: string, b: string): number {
  const [bytesA, bytesB] = [Buffer.from(a), Buffer.from(b)];
  const most = Math.min(bytesA.length, bytesB.length);
  for (let at = 0; at < most; at += 1) if (bytesA[at] !== bytesB[at]) return at;
  return most;
}
