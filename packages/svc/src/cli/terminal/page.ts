/** Lays out rows of `svc` and text of others on a terminal. */

import { InertText } from './inert-text.ts';
import type { Output, Terminal } from './output.ts';
import { Shown } from './shown.ts';
import { cellsOf } from './terminal-kind.ts';

/** Where a view puts rows of `svc` and text of others, one behind the other. Everything it returns is to be shown in that order. */
export interface Page {
  /** Whole rows of `svc`; ends the text of others first. */
  own(rows: Shown): string;
  /** The next piece of a text of others. */
  quote(piece: string): string;
  /** The end of such a text, and of its last row. */
  endQuote(): string;
  /** What others wrote about a row of `svc`: a label such as `[sh ok]`. */
  headed(label: Shown, text: string): string;
}

/** A page for a file or a program: text is made harmless and is otherwise unchanged. */
class PlainPage implements Page {
  readonly #text = new InertText();
  #isOpen = false;

  own({ text }: Shown): string {
    return this.endQuote() + text;
  }

  quote(piece: string): string {
    return this.#note(this.#text.push(piece));
  }

  endQuote(): string {
    const rest = this.#note(this.#text.end());
    const end = this.#isOpen ? '\n' : '';
    this.#isOpen = false;
    return rest + end;
  }

  headed({ text: label }: Shown, text: string): string {
    const cleaning = new InertText();
    const inert = cleaning.push(text) + cleaning.end();
    return `${this.endQuote()}${label}${inert === '' ? '' : ` ${inert}`}\n`;
  }

  #note(text: string): string {
    if (text !== '') this.#isOpen = !text.endsWith('\n');
    return text;
  }
}

/** On a terminal: text of others behind the gutter, rows of `svc` without it. */
class TerminalPage implements Page {
  readonly #terminal: Terminal;
  readonly #columns: () => number;
  readonly #rows: QuotedRows;

  constructor(terminal: Terminal, columns: () => number) {
    this.#terminal = terminal;
    this.#columns = columns;
    this.#rows = new QuotedRows(terminal, columns);
  }

  own({ text }: Shown): string {
    return this.endQuote() + this.#terminal.wrapped(text, this.#columns());
  }

  quote(piece: string): string {
    return this.#rows.push(piece);
  }

  endQuote(): string {
    return this.#rows.end();
  }

  headed(label: Shown, text: string): string {
    const row = `${this.endQuote()}${this.#terminal.wrapped(label.text, this.#columns())}\n`;
    return text === '' ? row : row + this.#rows.push(text) + this.#rows.end();
  }
}

export function pageOf(output: Output): Page {
  const { terminal } = output;
  return terminal === null ? new PlainPage() : new TerminalPage(terminal, () => output.rowWidth);
}

/** A whole text of others, ended by a line feed. */
export function quoted(output: Output, text: string): Shown {
  const page = pageOf(output);
  return Shown.cleaned(page.quote(text) + page.endQuote(), 'laid out');
}

const tabCells = 4;

/**
 * Lays out text of others on a terminal while it streams: inert, wrapped here and not by the terminal, and every row behind the gutter. So
 * nothing that a model writes can be taken for a row of `svc`.
 */
class QuotedRows {
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
