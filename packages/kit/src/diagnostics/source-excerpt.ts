/** Shows the line of a file that an error is about. */

import { printable } from './printable.ts';

export interface Excerpt {
  /** The line, or the part of it around the place. */
  readonly text: string;
  /** Spaces and carets, to stand below `text`. */
  readonly marker: string;
}

const widest = 100;
const contextBefore = 40;

/** The key and its separator, then what may be a credential: anything but a `${VARIABLE}` reference, or a number of tokens. */
const credential =
  /((?<![\w-])(?!max_(?:session_)?tokens\b)[\w-]*(?:key|token|secret|password|passphrase|credential)s?["']?\s*:\s*)(?!\s|["']?\$\{\w+\})(\S.*)$/i;
const wide =
  /^[\p{Extended_Pictographic}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]$/u;

/** One line of a file with the place underlined. Safe for a terminal, and without the value of a key that names a credential. */
export function renderExcerpt(line: string, { column, length = 1 }: { column: number; length?: number }): Excerpt {
  const shown = line.trimEnd().replace(credential, '$1[secret]');
  const start = Math.min(column - 1, shown.length);
  const end = Math.max(start + 1, Math.min(start + length, shown.length));
  const from = shown.length <= widest ? 0 : Math.max(0, start - contextBefore);
  const to = from + widest;
  const head = from > 0 ? '…' : '';
  const tail = to < shown.length ? '…' : '';
  const before = head + cell(shown.slice(from, start));
  const marked = cell(shown.slice(start, Math.min(end, to)));
  const after = cell(shown.slice(Math.min(end, to), to)) + tail;
  return {
    text: `${before}${marked}${after}`,
    marker: `${' '.repeat(cells(before))}${'^'.repeat(Math.max(1, cells(marked)))}`,
  };
}

function cell(text: string): string {
  return printable(text.replaceAll('\t', '  '));
}

/** Columns of a terminal. */
function cells(text: string): number {
  return Array.from(text).reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);
}
