/** Lays out rows of `svc` and text of others on a terminal. */

import { InertText } from './inert-text.ts';
import type { Output, Terminal } from './output.ts';
import { QuotedRows } from './quoted-rows.ts';
import { Shown } from './shown.ts';

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

/** A page for a file or a program: text is made harmless and is otherwise unchanged. The mark stands before each line of it. */
class PlainPage implements Page {
  readonly #text = new InertText();
  readonly #mark: string;
  #isOpen = false;

  constructor(mark: string) {
    this.#mark = mark;
  }

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
    return `${this.endQuote()}${label}${inert === '' ? '' : ` ${inert.replaceAll('\n', `\n${this.#mark}`)}`}\n`;
  }

  #note(text: string): string {
    if (text === '') return '';
    const marked = this.#mark === '' ? text : text.replaceAll(/\n(?!$)/g, `\n${this.#mark}`);
    const start = this.#isOpen ? '' : this.#mark;
    this.#isOpen = !text.endsWith('\n');
    return start + marked;
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

/** `mark` stands before the lines of others where no terminal shows them: in place of the gutter. */
export function pageOf(output: Output, mark = ''): Page {
  const { terminal } = output;
  return terminal === null ? new PlainPage(mark) : new TerminalPage(terminal, () => output.rowWidth);
}

/** A whole text of others, ended by a line feed. */
export function quoted(output: Output, text: string): Shown {
  const page = pageOf(output);
  return Shown.cleaned(page.quote(text) + page.endQuote(), 'laid out');
}
