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
  const openGutter = isRead ? gutter : hasUnicode ? '\u250A ' : ': ';
  const sinksCursor = browserTerminals.has(env['TERM_PROGRAM'] ?? '');
  const asideGutter = isRead ? 'aside: ' : hasUnicode ? '\u2551 ' : '|| ';
  const gutters = [gutter, openGutter, asideGutter];
  const isGutter = (row: string): boolean => gutters.some((start) => row.startsWith(start.trimEnd()));
  const wrapped = (text: string, columns: number): string =>
    text
      .split('\n')
      .map((row) => wrappedRow(isGutter(row) ? ` ${row}` : row, { columns, hasControls }))
      .join('\n');
  const drawsWide = eastAsian.test(locale);
  const maxCellsOf = (text: string): number => maxCells(text, drawsWide);
  return { hasControls, hasUnicode, isPlain, sinksCursor, gutter, openGutter, asideGutter, wrapped, maxCellsOf };
}

/** Those made of xterm.js; in one of tmux, that is what draws. */
const browserTerminals: ReadonlySet<string> = new Set(['vscode', 'Hyper', 'Tabby']);
/** Locales of whose terminals many draw lines, Greek and letters with accents two cells wide. */
const eastAsian = /^(?:ja|ko|zh)/i;

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
    // The next row begins with no blank of those where this one is broken.
    if (piece === ' ' && word === '' && shown.endsWith(`\n${hang}`)) continue;
    if (wide + cells > columns) {
      // The last word goes to the new row, unless it is as long as a row itself, or ends where the row does.
      if (piece === ' ' || wordCells + cells > columns - hang.length) flush();
      shown = `${withoutJoiner(shown.trimEnd())}\n${hang}`;
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

/** The text before a break: tmux draws what comes behind a joiner into the cell before it, a gutter in the next row too. */
export function withoutJoiner(text: string): string {
  return text.endsWith('\u200D') ? text.slice(0, -1) : text;
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

/** Drawn one cell wide by all but terminals of East Asian locales: letters with accents, dashes, quotes, arrows, lines, blocks, ticks. */
const narrow = /^[ -~\u00A1-\u00AC\u00AE-\u02FF\u2010-\u2027\u2030-\u205E\u2190-\u2193\u2500-\u259F\u2713\u2717]*$/;
/** And these. V8 makes the expression when it first needs it. */
let narrowLetter: RegExp | null = null;

function maxCells(text: string, drawsWide: boolean): number {
  if (drawsWide ? oneCell.test(text) : narrow.test(text)) return text.length;
  narrowLetter ??=
    /^(?=\p{L})[\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Hebrew}\p{Script=Arabic}]$/u;
  let cells = 0;
  for (const character of text) {
    const isNarrow =
      oneCell.test(character) || (!drawsWide && (narrow.test(character) || narrowLetter.test(character)));
    cells += isNarrow ? 1 : 2;
  }
  return cells;
}

/** A row with the cell at `column` reversed, as a terminal draws its cursor; the colours in it stay. */
export function withCursor(row: string, column: number): string {
  let before = '';
  let cells = 0;
  let under = '';
  let behind = '';
  for (const [piece] of row.matchAll(pieces)) {
    const wide = piece.startsWith('\u001B') ? 0 : cellsOf(piece);
    const isUnder =
      under === '' ? wide > 0 && cells + wide > column : wide === 0 && behind === '' && piece[0] !== '\u001B';
    if (isUnder) under += piece;
    else if (under === '') before += piece;
    else behind += piece;
    cells += wide;
  }
  const blanks = ' '.repeat(under === '' ? Math.max(0, column - cells) : 0);
  return `${before}${blanks}${reversed}${under === '' ? ' ' : under}${asBefore}${behind}`;
}

const reversed = '\u001B[7m';
const asBefore = '\u001B[27m';

/** The text where it fits into so many cells, else its start with `…` behind. Looks at no more of it than fits. */
export function cutToWidth(text: string, cells: number): string {
  if (text.length <= cells && oneCell.test(text)) return text;
  let taken = 0;
  let kept = '';
  let cutAt = '';
  for (const character of text) {
    taken += cellsOf(character);
    if (taken > cells) return `${withoutJoiner(cutAt)}…`;
    kept += character;
    if (taken < cells) cutAt = kept;
  }
  return kept;
}
