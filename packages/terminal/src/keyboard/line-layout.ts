/** Lays the text of an input line out in the rows of a terminal. */

import { cellsOf, cutToWidth, widthOf } from '../screen/terminal-kind.ts';
import type { Unit } from './line-text.ts';

export interface Layout {
  readonly rows: readonly string[];
  /** Both count from 0; the cursor stands on the cell where the next character is drawn, or would be. */
  readonly cursor: { readonly row: number; readonly column: number };
}

/** Wraps text at the width of the rows and splits no wide character. A cursor behind a full row stands at the start of another one. */
export function layoutOf(units: readonly Unit[], cursor: number, columns: number): Layout {
  const rows = new Rows(Math.max(columns, 2));
  units.forEach((unit, at) => {
    const pieces = piecesOf(unit);
    if (at === cursor) rows.placeCursor(pieces[0] ?? '');
    if (unit === '\n') rows.end();
    else for (const piece of pieces) rows.add(piece);
  });
  if (cursor >= units.length) rows.placeCursor('');
  rows.end();
  return rows;
}

/** Parts of a unit that stay in one row. */
function piecesOf(unit: Unit): readonly string[] {
  if (typeof unit !== 'string') return Array.from(unit.label);
  if (unit === '\n') return [];
  return unit === '\t' ? [' ', ' ', ' ', ' '] : [unit];
}

class Rows {
  readonly #columns: number;
  readonly rows: string[] = [];
  #row = '';
  #wide = 0;
  cursor: Layout['cursor'] = { row: 0, column: 0 };

  constructor(columns: number) {
    this.#columns = columns;
  }

  add(piece: string): void {
    // Many characters drawn as one may count for more than a row has.
    const fitting = piece.length === 1 ? piece : cutToWidth(piece, this.#columns);
    const cells = cellsIn(fitting);
    if (this.#wide + cells > this.#columns) this.end();
    this.#row += fitting;
    this.#wide += cells;
  }

  /** Where that piece begins; '' stands for one that takes no cell. */
  placeCursor(next: string): void {
    const cells = Math.min(Math.max(1, cellsIn(next)), this.#columns);
    if (this.#wide + cells > this.#columns) this.end();
    this.cursor = { row: this.rows.length, column: this.#wide };
  }

  end(): void {
    this.rows.push(this.#row);
    this.#row = '';
    this.#wide = 0;
  }
}

function cellsIn(piece: string): number {
  return piece.length === 1 ? cellsOf(piece) : widthOf(piece);
}
