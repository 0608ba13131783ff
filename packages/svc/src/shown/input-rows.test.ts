import { describe, expect, it } from 'vitest';

import { inputRows } from './input-rows.ts';

const prompt = 'run it? y once, s in this session, n no > ';
/** What is typed, in one row of at most so many cells. */
const typing =
  (text: string) =>
  (columns: number): { readonly rows: readonly string[]; readonly cursor: { row: number; column: number } } => {
    const shown = text.slice(-columns);
    return { rows: [shown], cursor: { row: 0, column: shown.length } };
  };

describe('what a person types', () => {
  it('stands behind its prompt', () => {
    expect(inputRows(prompt, typing('y'), { columns: 80, most: 5 })).toEqual({
      rows: [`${prompt}y`],
      cursor: { row: 0, column: prompt.length + 1 },
    });
  });

  it('stands behind the end of a prompt that is too wide, all of which is shown', () => {
    const { rows, cursor } = inputRows(prompt, typing('y'), { columns: 20, most: 5 });
    expect(rows).toEqual(['run it? y once, s ', 'in this session, n ', 'no > y']);
    expect(cursor).toEqual({ row: 2, column: 6 });
  });

  it('stands behind the end of a prompt for which there are too few rows', () => {
    const rowsIn = (most: number): readonly string[] => inputRows(prompt, typing('y'), { columns: 20, most }).rows;
    expect([rowsIn(2), rowsIn(1)]).toEqual([['in this session, n ', 'no > y'], ['no > y']]);
  });

  it('stands beside a prompt of one word, however few columns there are', () => {
    expect(inputRows('answer> ', typing('yes'), { columns: 10, most: 5 }).rows).toEqual(['answer> s']);
  });
});
