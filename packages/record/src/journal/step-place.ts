/** Reads where a step of a session belongs, and what it was given. */

import { recordedJson } from './recorded-json.ts';

/** Returns the number of the turn that a place belongs to, or null outside turns. */
export function turnOf(place: string): number | null {
  const [, turn] = /\/m(\d+)(?:\/|$)/.exec(place) ?? [];
  return turn === undefined ? null : Number(turn);
}

/** Parses recorded JSON. Returns null for text that is not JSON, or that is deeper or larger than a session accepts. */
export function parsed(text: string): unknown {
  const json = recordedJson(text);
  return json.kind === 'json' ? json.value : null;
}
