/** Lays out spans of text in rows of a width. */

import { cellsOf, withoutJoiner } from '../terminal-kind.ts';
import type { Span, Style } from './inline-spans.ts';

/** Draws a text in a style. */
export type Paint = (text: string, style: Style) => string;

export interface LaidRow {
  /** With its colours, and without a gutter. */
  readonly text: string;
  readonly cells: number;
  /** So many characters of the spans stand in this row and those before. */
  readonly end: number;
  /** Whether the row ends with a line of the text. */
  readonly isLine: boolean;
  /** Cells before rows in which its line goes on. */
  readonly hang: number;
}

interface Room {
  readonly cells: number;
  /** So many characters are in rows already. */
  readonly from?: number;
  /** Whether the first row goes on with a line. */
  readonly goesOn?: boolean;
  /** Cells before rows in which the first line goes on; null for the indent of the line, as of every other one. */
  readonly hang: number | null;
}

const tokens = /\n|[ \t]+|[^ \t\n]+/g;
const oneCell = /^[!-~]*$/;
const tabCells = 4;

/** Rows of at least one word each; a word that is wider than a row is broken. Blanks where a row ends are not shown. */
export function laidSpans(spans: readonly Span[], room: Room, paint: Paint): readonly LaidRow[] {
  const layout = new SpanLayout(room, paint);
  const { from = 0 } = room;
  let at = 0;
  for (const { text, style } of spans) {
    const skipped = Math.min(text.length, Math.max(0, from - at));
    at += skipped;
    for (const [token] of text.slice(skipped).matchAll(tokens)) {
      layout.take(token, style, at);
      at += token.length;
    }
  }
  return layout.end(at);
}

class SpanLayout {
  readonly #most: number;
  readonly #paint: Paint;
  #hang: number | null;
  readonly #rows: LaidRow[] = [];
  #row = '';
  #cells = 0;
  /** Whether something stands in the row. */
  #isBegun = false;
  #blanks = 0;
  #word = '';
  #wordCells = 0;
  #wordAt = 0;

  constructor(room: Room, paint: Paint) {
    this.#most = room.cells;
    this.#paint = paint;
    this.#hang = room.hang;
    if (room.goesOn === true) this.#goOn();
  }

  take(token: string, style: Style, at: number): void {
    if (token === '\n') {
      this.#endWord();
      this.#endRow(at + 1, true);
      this.#hang = null;
    } else if (token[0] === ' ' || token[0] === '\t') {
      this.#endWord();
      for (const blank of token) this.#blanks = Math.min(this.#blanks + (blank === ' ' ? 1 : tabCells), this.#most);
    } else this.#takeWord(token, style, at);
  }

  #takeWord(word: string, style: Style, at: number): void {
    if (this.#word === '') this.#wordAt = at;
    this.#hang = Math.min(this.#hang ?? this.#blanks, Math.floor(this.#most / 2));
    if (oneCell.test(word) && this.#wordCells + word.length <= this.#widest) {
      this.#word += this.#paint(word, style);
      this.#wordCells += word.length;
      return;
    }
    let part = '';
    let place = at;
    const flush = (): void => {
      if (part !== '') this.#word += this.#paint(part, style);
      part = '';
    };
    for (const character of word) {
      const cells = cellsOf(character);
      if (this.#wordCells + cells > this.#widest) {
        part = withoutJoiner(part);
        flush();
        this.#endWord();
        this.#wordAt = place;
      }
      part += character;
      this.#wordCells += cells;
      place += character.length;
    }
    flush();
  }

  /** The cells that a word may have. */
  get #widest(): number {
    return this.#most - (this.#hang ?? 0);
  }

  #endWord(): void {
    if (this.#word === '') return;
    if (this.#isBegun && this.#cells + this.#blanks + this.#wordCells > this.#most) {
      this.#endRow(this.#wordAt, false);
      this.#goOn();
    }
    const most = this.#most - this.#cells - this.#wordCells;
    this.#blanks = Math.max(0, Math.min(this.#blanks, most));
    this.#row += ' '.repeat(this.#blanks) + this.#word;
    this.#cells += this.#blanks + this.#wordCells;
    this.#isBegun = true;
    this.#word = '';
    this.#wordCells = this.#blanks = 0;
  }

  #goOn(): void {
    this.#cells = this.#hang ?? 0;
    this.#row = ' '.repeat(this.#cells);
  }

  #endRow(end: number, isLine: boolean): void {
    this.#rows.push({ text: this.#row, cells: this.#cells, end, isLine, hang: this.#hang ?? 0 });
    this.#row = '';
    this.#cells = this.#blanks = 0;
    this.#isBegun = false;
  }

  /** All rows; the last one is not ended unless nothing has begun it. */
  end(at: number): readonly LaidRow[] {
    this.#endWord();
    if (this.#isBegun) this.#endRow(at, false);
    return this.#rows;
  }
}
