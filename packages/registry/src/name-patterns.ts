/** Says which names of artifacts a key is for. */

import { artifactNamePattern, maxName } from '@svc/artifacts/manifest/names.ts';

/** A pattern is a name, in which `*` stands for any characters, also none. */
export function isNamePattern(text: string): boolean {
  return text.length <= maxName && /^[a-z0-9*-]+$/.test(text) && artifactNamePattern.test(text.replaceAll('*', 'x'));
}

/** Names that are allowed: those that one of the patterns matches as a whole. */
export class NamePatterns {
  /** The patterns as one text: the same for the same patterns in the same order. */
  readonly text: string;
  readonly #patterns: readonly (readonly string[])[];

  /** Each has to be a pattern. */
  constructor(patterns: readonly string[]) {
    this.text = patterns.join(' ');
    this.#patterns = patterns.map((pattern) => pattern.split('*'));
  }

  allows(name: string): boolean {
    return this.#patterns.some((pieces) => fits(name, pieces));
  }
}

/** Whether a name is these pieces with anything between them. Takes the first place for each piece: no later one leaves more room. */
function fits(name: string, pieces: readonly string[]): boolean {
  const [first = '', ...others] = pieces;
  const last = others.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

/** Every name. */
export const everyName: NamePatterns = new NamePatterns(['*']);

/** No name at all. */
export const noName: NamePatterns = new NamePatterns([]);
