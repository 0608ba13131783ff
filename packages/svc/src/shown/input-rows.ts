/** Puts what a person types behind a prompt. */

import type { Cursor, LiveRows } from '@svc/terminal/screen/live-screen.ts';

/** Rows of an editor behind the prompt, further ones behind as many blanks. */
export function inputRows(
  prompt: string,
  { rows, cursor }: { readonly rows: readonly string[]; readonly cursor: Cursor },
): LiveRows {
  return {
    rows: rows.map((row, index) => (index === 0 ? prompt : ' '.repeat(prompt.length)) + row),
    cursor: { row: cursor.row, column: cursor.column + prompt.length },
  };
}
