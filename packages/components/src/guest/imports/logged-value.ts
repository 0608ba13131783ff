/** Writes values that imports take and give as JSON, and reads them back. */

import { isUtf8 } from 'node:buffer';

import { hiddenHeads, type ImportLogEntry, type LoggedValue } from '../../import-log.ts';
import { HostObject } from '../retained.ts';

/** Numbers the things that a component has handles of. */
export interface Handles {
  /** Its number in the log and the class that it is of. */
  numbered(object: HostObject): readonly [number, string];
}

/** A value as the log holds it. What JSON has no word for is an object of one key that begins with `$`. */
export function encodeLogged(value: unknown, handles: Handles): LoggedValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { $f: Object.is(value, -0) ? '-0' : `${value}` };
    case 'bigint':
      return { $n: String(value) };
    case 'object':
      return value === null ? null : encodeObject(value, handles);
    default:
      return { $u: 0 };
  }
}

function encodeObject(value: object, handles: Handles): LoggedValue {
  if (Array.isArray(value)) return value.map((each) => encodeLogged(each, handles));
  if (value instanceof Uint8Array) return encodeBytes(value);
  if (value instanceof Uint32Array) return { $w: [...value] };
  if (value instanceof HostObject) return { $r: handles.numbered(value) };
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, encodeLogged(each, handles)]));
}

function encodeBytes(bytes: Uint8Array): LoggedValue {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? { $t: buffer.toString('utf8') } : { $b: buffer.toString('base64') };
}

/** What a log holds as the value that it was of; `revive` gives the thing behind a handle. Of a shape that no log has, it is some plain value. */
export function decodeLogged(logged: LoggedValue, revive: (number: number, name: string) => unknown): unknown {
  if (typeof logged !== 'object' || logged === null) return logged;
  if (isList(logged)) return logged.map((each) => decodeLogged(each, revive));
  const [only] = Object.entries(logged);
  if (only?.[0].startsWith('$') === true) return decodeMarked(only[0], only[1], revive);
  return Object.fromEntries(Object.entries(logged).map(([key, each]) => [key, decodeLogged(each, revive)]));
}

function decodeMarked(mark: string, held: LoggedValue, revive: (number: number, name: string) => unknown): unknown {
  switch (mark) {
    case '$n':
      return BigInt(textOf(held));
    case '$f':
      return Number(held);
    case '$t':
      return new Uint8Array(Buffer.from(textOf(held), 'utf8'));
    case '$b':
      return new Uint8Array(Buffer.from(textOf(held), 'base64'));
    case '$w':
      return Uint32Array.from(isList(held) ? held.map(Number) : []);
    case '$r':
      return isList(held) ? revive(Number(held[0]), textOf(held[1])) : undefined;
    default:
      return undefined;
  }
}

function textOf(value: LoggedValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function isList(value: LoggedValue): value is readonly LoggedValue[] {
  return Array.isArray(value);
}

/** An entry of a log without the values of headers that carry a credential: what was received as such is left out, what is sent is named alone. */
export function withoutCredentials([name, args, outcome]: ImportLogEntry): ImportLogEntry {
  if (!name.startsWith('wasi:http/types#Fields.')) return [name, args, outcome];
  const [first, second] = args;
  const isHidden = typeof second === 'string' && hiddenHeads.has(second.toLowerCase());
  const kept = isHidden ? [first ?? null, second] : args.map(shownHeads);
  if (!('ok' in outcome)) return [name, kept, outcome];
  return [name, kept, { ok: isHidden && isList(outcome.ok) ? [] : shownHeads(outcome.ok) }];
}

/** A list of names and values, or anything else as it is. */
function shownHeads(value: LoggedValue): LoggedValue {
  if (!isList(value)) return value;
  return value.filter((entry) => {
    const [name] = Array.isArray(entry) ? (entry as readonly LoggedValue[]) : [];
    return typeof name !== 'string' || !hiddenHeads.has(name.toLowerCase());
  });
}
