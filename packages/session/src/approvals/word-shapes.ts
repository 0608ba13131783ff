/** Matches words, or the segments of a path, with those of a rule. */

/** A word of a rule: these, `*` or `**`. */
export type WordShape =
  | { readonly kind: 'one-of'; readonly words: ReadonlySet<string> }
  | { readonly kind: 'any' | 'any-number' };

/** A segment of a path has no alternatives. */
export function shapeOf(word: string): WordShape {
  if (word === '*') return { kind: 'any' };
  return word === '**' ? { kind: 'any-number' } : { kind: 'one-of', words: new Set([word]) };
}

/** `a|b` is one of two words. */
export function wordShapeOf(word: string): WordShape {
  return word.includes('|') ? { kind: 'one-of', words: new Set(word.split('|')) } : shapeOf(word);
}

/** Goes back to the last `**` alone, so it takes at most shapes times words. */
export function fits(shapes: readonly WordShape[], words: readonly string[]): boolean {
  let shape = 0;
  let word = 0;
  let back: { readonly shape: number; word: number } | null = null;
  while (word < words.length) {
    const wanted = shapes[shape];
    if (wanted?.kind === 'any-number') {
      shape += 1;
      back = { shape, word };
    } else if (wanted !== undefined && takes(wanted, words[word] ?? '')) {
      shape += 1;
      word += 1;
    } else if (back === null) return false;
    else {
      back.word += 1;
      ({ shape, word } = back);
    }
  }
  while (shapes[shape]?.kind === 'any-number') shape += 1;
  return shape === shapes.length;
}

function takes(shape: WordShape, word: string): boolean {
  return shape.kind === 'one-of' ? shape.words.has(word) : true;
}
