// @ts-check
// The mutations of test/mutations/: what one is, which are chosen, and what a source file becomes with one.

import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

/**
 * One way to break one clause, or what no document says: in `file` the text `old`, which stands there once, becomes `new`.
 * @typedef {{ name: string, clause: string, tests: readonly string[], breaks: string, file: string, old: string, new: string }} Mutation
 * `name` distinguishes those of one clause. Without a clause, which is empty then, `tests` are the test files; one of them has to fail.
 * @typedef {{ topics: readonly string[], sample?: number | undefined, seed?: string | undefined }} Choice Topics are `D1-CARD`, `CARD`, a clause or a name; none are all.
 */

const texts = ['breaks', 'file', 'old', 'new'];

/**
 * The mutations of a folder, in the order of its files. Throws on an entry that is not one.
 * @param {string} folder
 * @returns {Mutation[]}
 */
export function readMutations(folder) {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .sort();
  return files.flatMap((file) => parseMutations(file, readFileSync(join(folder, file), 'utf8')));
}

/**
 * The mutations of one file, `<topic>.yaml`.
 * @param {string} file
 * @param {string} text
 * @returns {Mutation[]}
 */
export function parseMutations(file, text) {
  /** @type {unknown} */
  const entries = parse(text);
  if (!Array.isArray(entries)) throw new Error(`${file} is not a list of mutations`);
  /** @type {Map<string, number>} */
  const counts = new Map();
  return entries.map((entry, index) => {
    const where = `${file}, entry ${index + 1}`;
    const found = Object.keys(entry ?? {});
    const keys = [found.includes('tests') ? 'tests' : 'clause', ...texts];
    const odd = [...keys.filter((key) => !found.includes(key)), ...found.filter((key) => !keys.includes(key))];
    if (odd.length > 0) throw new Error(`${where} lacks, or has too much: ${odd.join(', ')}`);
    for (const key of keys)
      if (key !== 'tests' && typeof entry[key] !== 'string') throw new Error(`${where}: ${key} is not a text`);
    const topic = file.replace(/\.yaml$/, '');
    const { clause = '', tests = [], breaks, file: source, old, new: replacement } = entry;
    if (!Array.isArray(tests) || (clause === '' && tests.length === 0))
      throw new Error(`${where}: tests is not a list of files`);
    if (clause !== '' && !`${clause}`.startsWith(`${topic}-`))
      throw new Error(`${where}: ${clause} is not of this topic`);
    const key = clause === '' ? `${topic}-${index + 1}` : clause;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return { name: count === 1 ? key : `${key}.${count}`, clause, tests, breaks, file: source, old, new: replacement };
  });
}

/**
 * Returns the mutations that are asked for. Each seed gives another sample, and the same seed the same one.
 * @param {readonly Mutation[]} mutations
 * @param {Choice} choice
 * @returns {Mutation[]}
 */
export function choose(mutations, { topics, sample, seed = '' }) {
  const named = topics.flatMap((topic) => {
    const found = mutations.filter((mutation) => isOf(mutation, topic));
    if (found.length === 0) throw new Error(`no mutation is called, or of a topic called, ${topic}`);
    return found;
  });
  const chosen = topics.length === 0 ? [...mutations] : [...new Set(named)];
  if (sample === undefined) return chosen;
  const drawn = chosen.map((mutation) => ({ mutation, lot: lotOf(`${seed} ${mutation.name}`) }));
  drawn.sort((one, other) => (one.lot < other.lot ? -1 : 1));
  return drawn.slice(0, sample).map(({ mutation }) => mutation);
}

/**
 * The source with the mutation in it, or null when what it replaces is not there exactly once. Spaces and line ends count as one
 * space, so that another layout of the same code is the same code.
 * @param {string} source
 * @param {Mutation} mutation
 * @returns {string | null}
 */
export function mutate(source, mutation) {
  const words = mutation.old.trim().split(/\s+/);
  const pattern = new RegExp(words.map(escaped).join('\\s+'), 'g');
  const places = [...source.matchAll(pattern)];
  const [place] = places;
  if (place === undefined || places.length > 1) return null;
  return source.slice(0, place.index) + mutation.new.trim() + source.slice(place.index + place[0].length);
}

/**
 * Whether a test may name the clause: its id stands in the file, in a title or in the table that titles are made from.
 * @param {string} source
 * @param {string} clause
 */
export function mayName(source, clause) {
  return new RegExp(`\\b${clause}\\b`).test(source);
}

/**
 * @param {Mutation} mutation
 * @param {string} topic
 */
function isOf({ clause, name }, topic) {
  if (clause === '') return name === topic || name.startsWith(`${topic}-`);
  const whole = /^D\d-/.test(topic) ? topic : `${clause.slice(0, 3)}${topic}`;
  return name === whole || clause === whole || clause.startsWith(`${whole}-`);
}

/** @param {string} text */
function lotOf(text) {
  return createHash('sha256').update(text).digest('hex');
}

/** @param {string} word */
function escaped(word) {
  return word.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
