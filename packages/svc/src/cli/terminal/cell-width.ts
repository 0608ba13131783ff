/** How many cells of a terminal a text takes, and where to cut it. Terminals disagree on some characters: nothing may depend on an exact count. */

const oneCell = /^[\u0020-\u007E]*$/;
let zero: RegExp | null = null;
let two: RegExp | null = null;

/** 0, 1 or 2 for one character (code point). `isWary` counts everything beyond ASCII as 2, as no terminal draws it wider. */
export function cellsOf(character: string, isWary = false): number {
  if (character <= '\u007E') return 1;
  if (isWary) return 2;
  // Made when first needed: V8 reads such classes when it makes the expression.
  zero ??= /^[\p{M}\p{Cf}]/u;
  two ??=
    /^[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Yi}\p{Script=Tangut}\p{Emoji_Presentation}\p{Extended_Pictographic}]/u;
  if (zero.test(character)) return 0;
  return two.test(character) ? 2 : 1;
}

/** The cells of a line without control characters. */
export function widthOf(text: string): number {
  if (oneCell.test(text)) return text.length;
  let cells = 0;
  for (const character of text) cells += cellsOf(character);
  return cells;
}

/** The text where it fits into so many cells, else its start with `…` behind. Looks at no more of it than fits. */
export function cutToWidth(text: string, cells: number): string {
  if (text.length <= cells && oneCell.test(text)) return text;
  let taken = 0;
  let kept = '';
  let cutAt = '';
  for (const character of text) {
    taken += cellsOf(character);
    if (taken > cells) return `${cutAt}…`;
    kept += character;
    if (taken < cells) cutAt = kept;
  }
  return kept;
}
