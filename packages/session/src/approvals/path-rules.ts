/** Decides by the rules of a manifest whether the component of a tool changes a file. */

import type { MatchedCall } from '@svc/artifacts/manifest/approvals.ts';
import type { FileOperation } from '../tools/tool.ts';
import { type Decision, stricter } from './decision.ts';
import { fits, shapeOf, type WordShape } from './word-shapes.ts';

interface PathRule extends Decision {
  readonly segments: readonly WordShape[];
}

/** The rules of paths of one tool. */
export class PathRules {
  readonly #rules: readonly PathRule[];

  constructor(rules: readonly (Decision & { readonly match: MatchedCall })[]) {
    this.#rules = rules.flatMap(({ match: { path }, verdict, rule }) => {
      if (path === undefined) return [];
      const segments = path.split('/').map((segment) => shapeOf(verdict === 'allow' ? segment : folded(segment)));
      return [{ verdict, rule, segments }];
    });
  }

  /** `otherwise` decides about a place that no rule matches; null lets it pass. Returns null for what passes by no rule. */
  of({ operation, path, to, ...kind }: FileOperation, otherwise: Decision | null): Decision | null {
    const places = to === null ? [path] : [path, to];
    const found = places.map((place) => this.#strictest(matcher(place, kind)) ?? otherwise);
    const decision = found.reduce((one, other) =>
      one === null || other === null ? (one ?? other) : stricter(one, other),
    );
    // An empty directory holds nothing: nobody is asked about it.
    return operation === 'directory' && decision?.verdict === 'ask' ? null : decision;
  }

  #strictest(matches: (rule: PathRule) => boolean): Decision | null {
    const found = this.#rules.filter((rule) => matches(rule));
    return found.length === 0 ? null : found.map(({ verdict, rule }) => ({ verdict, rule })).reduce(stricter);
  }
}

/**
 * Whether a rule is for a place. One that asks or denies is also for a tree with something in it that could match, and for a file with other names. One
 * that allows a tree ends in `**`.
 */
function matcher(
  place: string,
  { isTree, isLinked }: Pick<FileOperation, 'isTree' | 'isLinked'>,
): (rule: PathRule) => boolean {
  const words = wordsOf(place);
  const foldedWords = words.map(folded);
  return ({ verdict, segments }) => {
    if (verdict === 'allow') {
      return fits(segments, words) && !isLinked && (!isTree || segments.at(-1)?.kind === 'any-number');
    }
    if (isLinked || fits(segments, foldedWords)) return true;
    return isTree && segments.some((_, index) => fits(segments.slice(0, index), foldedWords));
  };
}

/** The directory that a component sees as `/` has no name. */
function wordsOf(path: string): readonly string[] {
  return path === '' ? [] : path.split('/');
}

/**
 * A file system or a server may know no case, and pass over invisible characters, and over dots and spaces at the end: what asks or denies counts for every
 * spelling.
 */
export function folded(name: string): string {
  const visible = name.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
  return visible
    .toLowerCase()
    .toUpperCase()
    .normalize('NFKC')
    .replace(/(?<![. ])[. ]+$/, '');
}
