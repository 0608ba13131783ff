/** Lays out rows in columns. */

import { cutToWidth, widthOf } from './terminal/terminal-kind.ts';
import type { Output } from './terminal/output.ts';
import { exact, Shown } from './terminal/shown.ts';

export interface Column {
  readonly title: string;
  /** Cells that the column keeps where the table is wider than the terminal; a column without it is not cut. */
  readonly keeps?: number;
}

const gap = '  ';

/**
 * Columns padded to their widest cell, one row a line. Where rows have to fit a width, columns are cut as far as they may be, the last one first;
 * anywhere else nothing is cut. Cells may come from anywhere.
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
    return `${cells.join(gap).trimEnd()}\n`;
  });
  return Shown.cleaned(text.join(''));
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
