/** Lays out rows in columns. */

import { cutToWidth, widthOf } from './terminal-kind.ts';
import type { Output } from './output.ts';
import { exact, Shown } from './shown.ts';

export interface Column {
  readonly title: string;
  /** Cells that the column keeps where the table is wider than the terminal; a column without it is cut with the whole row alone. */
  readonly keeps?: number;
  /** Has what the others leave, where columns have the same width in each row. */
  readonly fills?: true;
}

const gap = '  ';
const usualWidth = 80;

/**
 * Columns padded to their widest cell, one row a line. Where rows have to fit a width, columns are cut as far as they may be, the last one first, and then
 * the rows at their end; anywhere else nothing is cut. Cells may come from anywhere.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { columns: width }: Pick<Output, 'columns'>,
): Shown {
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => row.map(oneCell))];
  const widths = columns.map((_, index) => widest(lines, index));
  if (width !== null) shrink(widths, columns, width);
  const text = lines.map((line) => {
    const cells = line.map((cell, index) => padded(cutToWidth(cell, widths[index] ?? 0), widths[index] ?? 0));
    return rowOf(cells, width);
  });
  return Shown.cleaned(text.join(''));
}

/**
 * One row of columns that have the same width in each row, for rows that come one by one: what they keep, and one of them what is left of
 * a wider terminal. Where no row has to fit a width, a longer cell is not cut.
 */
export function fixedRow(
  columns: readonly Column[],
  cells: readonly string[],
  { columns: width }: Pick<Output, 'columns'>,
): Shown {
  const kept = columns.map(({ keeps }) => keeps ?? 0);
  const spare = (width ?? usualWidth) - kept.reduce((sum, each) => sum + each, 0) - gap.length * (columns.length - 1);
  const widths = columns.map(({ fills }, index) => (kept[index] ?? 0) + (fills === true ? Math.max(0, spare) : 0));
  const row = cells.map((cell, index) => {
    const clean = oneCell(cell);
    return padded(width === null ? clean : cutToWidth(clean, widths[index] ?? 0), widths[index] ?? 0);
  });
  return Shown.cleaned(rowOf(row, width));
}

function rowOf(cells: readonly string[], width: number | null): string {
  const row = cells.join(gap).trimEnd();
  return `${width === null ? row : cutToWidth(row, width)}\n`;
}

/** One line after the other: a registry may have more artifacts than a call can have arguments. */
function widest(lines: readonly (readonly string[])[], index: number): number {
  return lines.reduce((most, line) => Math.max(most, widthOf(line[index] ?? '')), 0);
}

function shrink(widths: number[], columns: readonly Column[], width: number): void {
  let excess = widths.reduce((sum, each) => sum + each, 0) + gap.length * (columns.length - 1) - width;
  for (const [index, { keeps }] of [...columns.entries()].toReversed()) {
    const given = Math.min(excess, (widths[index] ?? 0) - (keeps ?? Infinity));
    if (given <= 0) continue;
    widths[index] = (widths[index] ?? 0) - given;
    excess -= given;
  }
}

function oneCell(text: string): string {
  return exact(text.replaceAll(/\s+/g, ' '));
}

function padded(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - widthOf(cell)));
}
