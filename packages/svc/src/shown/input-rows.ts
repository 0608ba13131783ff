/** Puts what a person types behind a prompt. */

import type { Cursor, LiveRows } from '@svc/terminal/screen/live-screen.ts';

/** Lays out what is typed: in rows of so many cells, at most so many of them. */
type Layout = (columns: number, most: number) => { readonly rows: readonly string[]; readonly cursor: Cursor };

/** Cells that what is typed gets at least beside a prompt; a longer prompt goes on in rows above. */
const leastTyped = 12;

/** Rows of an editor behind the prompt, further ones behind as many blanks; together at most `most`, and of the prompt its end. */
export function inputRows(
  prompt: string,
  layout: Layout,
  { columns, most }: { readonly columns: number; readonly most: number },
): LiveRows {
  const lines = promptRows(prompt, columns);
  const last = lines.pop() ?? '';
  const above = lines.slice(Math.max(0, lines.length + 1 - most));
  const { rows, cursor } = layout(Math.max(1, columns - last.length - 1), Math.max(1, most - above.length));
  return {
    rows: [...above, ...rows.map((row, index) => (index === 0 ? last : ' '.repeat(last.length)) + row)],
    cursor: { row: cursor.row + above.length, column: cursor.column + last.length },
  };
}

/** The prompt in rows that it fits into, of words. */
function promptRows(prompt: string, columns: number): string[] {
  if (prompt.length + leastTyped <= columns || !prompt.trimEnd().includes(' ')) return [prompt];
  const lines = [''];
  for (const [word] of prompt.matchAll(/\S+ */g)) {
    const line = lines.at(-1) ?? '';
    if (line === '' || line.length + word.trimEnd().length < columns) lines[lines.length - 1] = line + word;
    else lines.push(word);
  }
  return lines;
}
