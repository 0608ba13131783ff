/** Finds out what the terminal of this environment can do, and how many of its cells a text takes. */

import type { Terminal } from './output.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the terminal of this environment can do, and how rows are laid out on it. */
export function terminalOf(env: Environment): Terminal {
  const { TERM: name = '' } = env;
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  // Without a locale at all, as in most containers, terminals draw UTF-8 all the same.
  const hasUnicode = locale === '' || /utf-?8/i.test(locale);
  const hasControls = name !== '' && name !== 'dumb';
  const isRead = [env['ACCESSIBLE'], env['SVC_PLAIN']].some((value = '') => value !== '');
  const gutter = isRead ? 'said: ' : hasUnicode ? '\u2502 ' : '| ';
  const isPlain = isRead || !hasControls;
  const rewraps = !cutting.test(name) || (env['TMUX'] ?? '') !== '';
  const wrapped = (text: string, columns: number): string =>
    text
      .split('\n')
      .map((row) => wrappedRow(row.startsWith(gutter.trimEnd()) ? ` ${row}` : row, { columns, hasControls }))
      .join('\n');
  return { hasControls, hasUnicode, isPlain, rewraps, gutter, wrapped };
}

/** Terminals that cut what is too long for a new width: the console of Linux, GNU screen. tmux calls itself `screen` too. */
const cutting = /^(?:linux|screen|vt\d)/;

/** What a row that goes on begins with. */
export const hang = '  ';

/** A sequence that `svc` itself sets a colour with, as a regular expression. */
export const colour = '\u001B\\[[\\d;]*m';
const pieces = new RegExp(`${colour}|.`, 'gsu');

function wrappedRow(
  row: string,
  { columns, hasControls }: { readonly columns: number; readonly hasControls: boolean },
): string {
  if (row.length <= columns && /^[\u0020-\u007E]*$/.test(row)) return row;
  let wide = 0;
  let shown = '';
  let word = '';
  let wordCells = 0;
  const flush = (): void => {
    shown += word;
    word = '';
    wordCells = 0;
  };
  for (const [piece] of row.matchAll(pieces)) {
    const cells = piece.startsWith('\u001B') || piece === '\r' ? 0 : cellsOf(piece, !hasControls);
    if (wide + cells > columns) {
      // The last word goes to the new row, unless it is as long as a row itself, or ends where the row does.
      if (piece === ' ' || wordCells + cells > columns - hang.length) flush();
      shown = `${shown.trimEnd()}\n${hang}`;
      wide = hang.length + wordCells;
      if (piece === ' ') continue;
    }
    word += piece;
    wordCells += cells;
    wide += cells;
    if (piece === ' ') flush();
  }
  return shown + word;
}

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
