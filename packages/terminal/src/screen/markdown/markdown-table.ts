/** Draws a table of Markdown in columns, or as a list where they do not fit. */

import { inBold, inlineSpans, plainStyle, type Span } from './inline-spans.ts';
import { laidSpans, type Paint } from './laid-spans.ts';

type Alignment = 'left' | 'right' | 'center';

export interface TableLook {
  readonly room: number;
  readonly paint: Paint;
  /** Draws the lines between cells. */
  readonly dim: (text: string) => string;
  readonly hasUnicode: boolean;
  /** Whether marks within cells are drawn. */
  readonly isStyled: boolean;
}

/** A narrower column breaks most words. */
const fewestCells = 6;
const delimiter = /^ *:?-+:? *$/;

/** Whether the line stands between the head of a table and its rows. */
export function isDelimiter(line: string): boolean {
  const cells = cellsOfRow(line);
  return cells.length > 0 && cells.every((cell) => delimiter.test(cell));
}

/** The texts between the bars of a row; a bar behind a backslash is text. */
export function cellsOfRow(line: string): readonly string[] {
  const cells: string[] = [];
  let cell = '';
  let isEscaped = false;
  for (const character of line.trim().replace(/^\|/, '')) {
    if (character === '|' && !isEscaped) {
      cells.push(cell.trim());
      cell = '';
    } else cell += character;
    isEscaped = character === '\\' && !isEscaped;
  }
  return cell.trim() === '' ? cells : [...cells, cell.trim()];
}

/** A table whose rows may come in parts: all have the columns of the first part. */
export class MarkdownTable {
  readonly #head: readonly string[];
  readonly #alignments: readonly Alignment[];
  #widths: readonly number[] | null = null;
  #hasHead = false;

  constructor(head: string, delimiters: string) {
    this.#head = cellsOfRow(head);
    this.#alignments = cellsOfRow(delimiters).map((cell) => {
      if (!cell.endsWith(':')) return 'left';
      return cell.startsWith(':') ? 'center' : 'right';
    });
  }

  /** Rows of the screen for some rows of the table, with its head before the first ones. */
  rows(lines: readonly string[], look: TableLook): readonly string[] {
    const cells = lines.map(cellsOfRow);
    const count = cells.reduce((most, row) => Math.max(most, row.length), this.#head.length);
    const between = 3 * (count - 1);
    if (count * fewestCells + between > look.room) return this.#list(cells, look);
    const all = [this.#head, ...cells];
    const known = this.#widths;
    const fits = known !== null && known.length >= count && sum(known) + 3 * (known.length - 1) <= look.room;
    const widths = fits ? known : widthsOf(all, count, look.room - between, look);
    this.#widths = widths;
    const body = cells.flatMap((row) => this.#drawn(row, widths, look));
    if (this.#hasHead) return body;
    this.#hasHead = true;
    const [line, cross] = look.hasUnicode ? ['\u2500', '\u2500\u253C\u2500'] : ['-', '-+-'];
    const rule = look.dim(widths.map((width) => line.repeat(width)).join(cross));
    return [...this.#drawn(this.#head, widths, look, true), rule, ...body];
  }

  #drawn(row: readonly string[], widths: readonly number[], look: TableLook, isHead = false): readonly string[] {
    const columns = widths.map((width, index) => laidCell(row[index] ?? '', width, look, isHead));
    const height = columns.reduce((most, { length }) => Math.max(most, length), 1);
    const bar = look.dim(look.hasUnicode ? ' \u2502 ' : ' | ');
    return Array.from({ length: height }, (_, line) => {
      const cells = columns.map((rows, index) => {
        const { text, cells: used } = rows[line] ?? { text: '', cells: 0 };
        const free = Math.max(0, (widths[index] ?? 0) - used);
        const before = { left: 0, right: free, center: Math.floor(free / 2) }[this.#alignments[index] ?? 'left'];
        return `${' '.repeat(before)}${text}${' '.repeat(free - before)}`;
      });
      return cells.join(bar).trimEnd();
    });
  }

  /** Rows as lists, with a blank row between them; of a table without rows, the head. */
  #list(rows: readonly (readonly string[])[], look: TableLook): readonly string[] {
    const isFirst = !this.#hasHead;
    this.#hasHead = true;
    if (rows.length === 0 && isFirst) {
      const head = [{ text: this.#head.join(' | '), style: plainStyle }];
      return laidSpans(head, { cells: look.room, hang: 0 }, look.paint).map(({ text }) => text);
    }
    return rows.flatMap((row, index) => [...(isFirst && index === 0 ? [] : ['']), ...this.#listed(row, look)]);
  }

  /** One row as a list: each cell behind the name of its column. */
  #listed(row: readonly string[], look: TableLook): readonly string[] {
    const hang = Math.min(2, look.room - 1);
    const lines = row.flatMap((cell, index) => {
      const name = this.#head[index] ?? '';
      const label: Span[] = name === '' ? [] : [{ text: `${name}: `, style: { ...plainStyle, bold: true } }];
      const laid = laidSpans([...label, ...spansOf(cell, look)], { cells: look.room, hang }, look.paint);
      return laid.map(({ text }) => text);
    });
    return lines;
  }
}

function spansOf(cell: string, look: TableLook, isHead = false): readonly Span[] {
  const plain = [{ text: cell, style: plainStyle }];
  const { spans } = look.isStyled ? inlineSpans(cell, true) : { spans: plain };
  return isHead ? spans.map(inBold) : spans;
}

function laidCell(cell: string, width: number, look: TableLook, isHead: boolean): ReturnType<typeof laidSpans> {
  return laidSpans(spansOf(cell, look, isHead), { cells: Math.max(width, 2), hang: 0 }, look.paint);
}

/** As wide as their texts where that fits; else the widest columns share what the others leave. */
function widthsOf(
  rows: readonly (readonly string[])[],
  count: number,
  room: number,
  look: TableLook,
): readonly number[] {
  const natural = Array.from({ length: count }, (_, index) =>
    rows.reduce((most, row) => Math.max(most, widthOfCell(row[index] ?? '', room, look)), 2),
  );
  if (sum(natural) <= room) return natural;
  let left = room;
  const widths = natural.map(() => 0);
  const byWidth = natural
    .map((_, index) => index)
    .toSorted((one, other) => (natural[one] ?? 0) - (natural[other] ?? 0));
  for (const [place, index] of byWidth.entries()) {
    const share = Math.floor(left / (count - place));
    widths[index] = Math.min(natural[index] ?? 0, share);
    left -= widths[index] ?? 0;
  }
  return widths;
}

/** Up to the width of a row. */
function widthOfCell(cell: string, room: number, look: TableLook): number {
  const laid = laidSpans(spansOf(cell, look), { cells: room, hang: 0 }, (text) => text);
  return laid.length > 1 ? room : (laid[0]?.cells ?? 0);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
