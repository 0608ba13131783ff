/** Takes from a line of a journal what a comparison of long sessions needs, without parsing all of it. */

import type { JournalRecord } from './records.ts';

type Start = JournalRecord<'start'>;
type End = JournalRecord<'end'>;

/** What is taken of the records of these kinds; of a `start` that asks no model, all. */
export type SkimmedStart = Start extends infer Each ? (Each extends Start ? Omit<Each, 'cont'> : never) : never;
export type SkimmedEnd = Pick<End, 'n' | 'k' | 'at' | 'e' | 'value' | 'c'>;

const hash = '[0-9a-f]{64}';
// Quotes within a text are escaped, so a name of a key between two quotes is a key, and neither kind has objects that have these keys.
const at = /"at":(\d{1,16})[,}]/;
const place = /"e":"([^"\\]+)"/;
const port = /"port":"(tool|shell|mcp|hook|child|model)"/;
const name = /"name":"([^"\\]*)"/;
const input = new RegExp(`"in":"(${hash})"`);
const fixed = new RegExp(`"fixed":"(${hash})"`);
const base = /"base":(?:null|"([^"\\]+)")/;
const add = new RegExp(`"add":\\[((?:"${hash}"(?:,(?="))?)*)\\]`);
const value = new RegExp(`"value":(?:null|"(${hash})")`);

/** The `start` of a line with this head, spelled as `svc` writes it in ASCII; null for one that has to be parsed. */
export function skimmedStart(line: string, n: number, c: string): SkimmedStart | null {
  const [timed, placed, ported, named] = [at.exec(line), place.exec(line), port.exec(line), name.exec(line)];
  if (timed === null || placed === null || ported === null || named === null) return null;
  const known = { n, k: 'start', at: Number(timed[1]), e: placed[1] ?? '', name: named[1] ?? '', c } as const;
  if (ported[1] !== 'model') {
    const given = input.exec(line);
    return given === null ? null : { ...known, port: ported[1] as 'tool', in: given[1] ?? '' };
  }
  const [same, extended, added] = [fixed.exec(line), base.exec(line), add.exec(line)];
  if (same === null || extended === null || added === null) return null;
  return { ...known, port: 'model', fixed: same[1] ?? '', base: extended[1] ?? null, add: hashesOf(added[1] ?? '') };
}

/** The same for an `end`. */
export function skimmedEnd(line: string, n: number, c: string): SkimmedEnd | null {
  const [timed, placed, valued] = [at.exec(line), place.exec(line), value.exec(line)];
  if (timed === null || placed === null || valued === null) return null;
  return { n, k: 'end', at: Number(timed[1]), e: placed[1] ?? '', value: valued[1] ?? null, c };
}

function hashesOf(list: string): string[] {
  return list === '' ? [] : list.slice(1, -1).split('","');
}
