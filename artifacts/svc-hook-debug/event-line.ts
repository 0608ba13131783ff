/** Writes an event of a session as one line of JSON. */

import { wellFormed } from '@svc/guest/text.ts';

const maxText = 2_000;
const maxList = 100;

/** An event as one line of JSON: its name, then its fields in the spelling of the wire. Long texts and lists are cut and say so. */
export function eventLine(event: string, fields: object): string {
  return JSON.stringify({ event, ...(shown(fields) as object) });
}

function shown(value: unknown): unknown {
  if (typeof value === 'string') return shownText(value);
  if (Array.isArray(value)) return shownList(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [snakeCase(key), shown(inner)]));
}

function shownText(text: string): string {
  if (text.length <= maxText) return text;
  return wellFormed(`${text.slice(0, maxText)}… (${text.length - maxText} more characters)`);
}

/** The newest of a list, such as a conversation, is at its end. */
function shownList(list: readonly unknown[]): readonly unknown[] {
  const items = list.slice(-maxList).map(shown);
  return list.length <= maxList ? items : [`… (${list.length - maxList} before)`, ...items];
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
