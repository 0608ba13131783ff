/** Finds out what the terminal of this environment can do. */

import { cellsOf } from './cell-width.ts';
import type { Terminal } from './output.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the terminal of this environment can do, and how rows are laid out on it. */
export function terminalOf(env: Environment): Terminal {
  const { TERM: name = '' } = env;
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  // Without a locale at all, as in most containers, terminals draw UTF-8 all the same.
  const gutter = locale === '' || /utf-?8/i.test(locale) ? '\u2502 ' : '| ';
  const hasControls = name !== '' && name !== 'dumb';
  const wrapped = (text: string, columns: number): string =>
    text
      .split('\n')
      .map((row) => wrappedRow(row.startsWith(gutter.trimEnd()) ? ` ${row}` : row, { columns, hasControls }))
      .join('\n');
  return { hasControls, gutter, wrapped };
}

const hang = '  ';

/** Set by `svc` itself. */
const colour = '\u001B\\[[\\d;]*m';
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
