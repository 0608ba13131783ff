import { cellsOf } from './cell-width.ts';
import { InertText } from './inert-text.ts';
import type { Terminal } from './output.ts';

const tabCells = 4;

/**
 * Lays out text of others on a terminal while it streams: inert, wrapped here and not by the terminal, and every row behind the gutter. So
 * nothing that a model writes can be taken for a row of `svc`.
 */
export class QuotedRows {
  readonly #kind: Pick<Terminal, 'hasControls' | 'gutter'>;
  readonly #columns: () => number;
  readonly #text = new InertText();
  /** What was shown of the row that is not ended, in cells; null between rows. */
  #wide: number | null = null;
  /** Shown once it is known whether it fits. */
  #word = '';
  #wordCells = 0;
  #blanks = 0;

  constructor(kind: Pick<Terminal, 'hasControls' | 'gutter'>, columns: () => number) {
    this.#kind = kind;
    this.#columns = columns;
  }

  /** Whether a row is begun and not ended. */
  get isOpen(): boolean {
    return this.#wide !== null || this.#word !== '';
  }

  /** What to show for the next piece. */
  push(piece: string): string {
    return this.#lay(this.#text.push(piece));
  }

  /** The rest, with the end of the last row. */
  end(): string {
    const rest = this.#lay(this.#text.end()) + this.#endWord();
    const end = this.#wide === null ? '' : '\n';
    this.#wide = null;
    this.#blanks = 0;
    return rest + end;
  }

  #lay(text: string): string {
    let shown = '';
    for (const character of text) {
      if (character === '\n') shown += `${this.#endWord()}${this.#beginRow()}\n`;
      if (character === '\n') this.#wide = null;
      else if (character === ' ') shown += this.#blank(1);
      else if (character === '\t') shown += this.#blank(tabCells);
      else shown += this.#addToWord(character);
    }
    return shown;
  }

  #blank(cells: number): string {
    const shown = this.#endWord();
    this.#blanks = Math.min(this.#blanks + cells, this.#room());
    return shown;
  }

  #addToWord(character: string): string {
    const cells = cellsOf(character, !this.#kind.hasControls);
    const isFull = this.#wordCells + cells > this.#room();
    const shown = isFull ? this.#endWord() : '';
    this.#word += character;
    this.#wordCells += cells;
    return shown;
  }

  #endWord(): string {
    if (this.#word === '') return '';
    let shown = '';
    if (this.#wide !== null && this.#wide + this.#blanks + this.#wordCells > this.#room()) {
      shown = '\n';
      this.#wide = null;
      this.#blanks = 0;
    }
    // Deeper indented than there is room for.
    if (this.#wide === null) this.#blanks = Math.min(this.#blanks, this.#room() - this.#wordCells);
    shown += `${this.#beginRow()}${' '.repeat(this.#blanks)}${this.#word}`;
    this.#wide = (this.#wide ?? 0) + this.#blanks + this.#wordCells;
    this.#word = '';
    this.#wordCells = this.#blanks = 0;
    return shown;
  }

  #beginRow(): string {
    if (this.#wide !== null) return '';
    this.#wide = 0;
    return this.#kind.gutter;
  }

  /** Cells behind the gutter. */
  #room(): number {
    return this.#columns() - this.#kind.gutter.length;
  }
}
