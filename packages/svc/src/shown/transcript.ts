/** Lays out what a session says, as rows of a transcript. */

import type { Colors } from 'picocolors/types.js';

import { redactHandles } from '@svc/kit/diagnostics/handle-id.ts';
import type { Terminal } from '@svc/terminal/screen/output.ts';
import { MarkdownRows } from '@svc/terminal/screen/markdown/markdown-rows.ts';
import { QuotedRows } from '@svc/terminal/screen/quoted-rows.ts';
import type { Screen } from '@svc/terminal/screen/screen.ts';
import type { Shown } from '@svc/terminal/screen/shown.ts';

/** Which text of a model is shown: its answer, or what it thinks. */
export type QuoteKind = 'text' | 'thinking';

/** So much text may wait for the next frame to be laid out as one piece. */
const maxWaiting = 16 * 1024;

/**
 * Rows of `svc`, and text of others behind the gutter, in the order in which they come. A row goes to the screen when it is whole; the one that text
 * has begun and not ended is in `openRows`, for the live rows.
 */
export class Transcript {
  readonly #screen: Screen;
  readonly #terminal: Terminal;
  readonly #dim: (text: string) => string;
  /** Answers, drawn; null where they are shown as they were written. */
  readonly #answers: MarkdownRows | null;
  #rows: QuotedRows;
  #quoted: QuoteKind | null = null;
  /** Pieces of the text that are not laid out yet: those of one frame are laid out together, where there are frames. */
  #waiting = '';
  /** What the quoted rows have given of the row that is not whole. */
  #begun = '';

  constructor(screen: Screen, terminal: Terminal, color: Colors) {
    this.#screen = screen;
    this.#terminal = terminal;
    this.#dim = color.dim;
    const { gutter, hasUnicode, isPlain } = terminal;
    const look = { gutter, hasUnicode, colours: color.isColorSupported ? color : null };
    this.#answers = isPlain ? null : new MarkdownRows(look, () => screen.columns);
    this.#rows = this.#newRows(gutter);
  }

  /** A row, or several, of `svc`; ends the text of others first. */
  own(rows: Shown): void {
    this.endQuote();
    this.beside(rows);
  }

  /** Rows of `svc` that do not end the text of others: they stand above its row that is not whole, so that no line of it is torn. */
  beside(rows: Shown): void {
    this.layOut();
    // They begin a row by themselves.
    const text = this.drawable(redactHandles(rows.text).replaceAll(/^\n|\n$/g, ''));
    this.#screen.append(this.#terminal.wrapped(text, this.#screen.columns).split('\n'));
  }

  /** The same of a whole text of others. */
  quoteBeside(text: string): void {
    this.#whole(text, this.#terminal.asideGutter);
  }

  /** A whole text of the model that a person decides on: as it was written. */
  asked(text: string): void {
    this.endQuote();
    this.#whole(text, this.#terminal.gutter);
  }

  #whole(text: string, gutter: string): void {
    this.layOut();
    const rows = this.#newRows(gutter);
    const laid = rows.push(redactHandles(text)) + rows.end();
    if (laid !== '') this.#screen.append(laid.replace(/\n$/, '').split('\n'));
  }

  /** A row that has been laid out for the width of the screen. */
  laidOut(row: string): void {
    this.endQuote();
    this.#screen.append([this.drawable(row)]);
  }

  /** The next piece of a text of others. */
  quote(kind: QuoteKind, piece: string): void {
    if (piece === '') return;
    if (this.#quoted !== kind) {
      this.endQuote();
      this.#rows = this.#newRows(kind === 'text' ? this.#terminal.gutter : this.#terminal.asideGutter);
    }
    this.#quoted = kind;
    this.#waiting += piece;
    if (!this.#screen.isLive || this.#waiting.length > maxWaiting) this.layOut();
  }

  /** Hands what has come of a text to the screen: to be called before a frame is drawn. */
  layOut(): void {
    if (this.#waiting === '') return;
    const text = redactHandles(this.#waiting);
    this.#waiting = '';
    if (this.#isDrawn) this.#screen.append(this.#answers?.push(text) ?? []);
    else this.#take(this.#rows.push(text));
  }

  get #isDrawn(): boolean {
    return this.#quoted === 'text' && this.#answers !== null;
  }

  /** The end of such a text, and of its last row. */
  endQuote(): void {
    if (this.#quoted === null) return;
    this.layOut();
    if (this.#isDrawn) this.#screen.append(this.#answers?.end() ?? []);
    else this.#take(this.#rows.end());
    this.#quoted = null;
  }

  /** A whole text of others that is no answer, behind a gutter of its own and dimmed. */
  aside(text: string): void {
    this.quote('thinking', text);
    this.endQuote();
  }

  /** The row that is not whole yet, which its last word may make two; none between rows. */
  get openRows(): readonly string[] {
    const { gutter, openGutter, asideGutter } = this.#terminal;
    if (this.#quoted === 'text')
      return (this.#answers ?? this.#rows).openRows.map((row) => openGutter + row.slice(gutter.length));
    const rows = this.#quoted === null ? [] : this.#rows.openRows;
    return rows.map((row) => this.#dim(openGutter + row.slice(asideGutter.length)));
  }

  /** A row that others wrote, for the live rows; the line is one that is inert. */
  quotedRow(line: string): string {
    return `${this.#terminal.openGutter}${redactHandles(line)}`;
  }

  /** The width has changed: the row that is not whole is laid out anew, before more of it is laid out. */
  resized(): void {
    if (this.#quoted === null || this.#isDrawn) return;
    this.#begun = '';
    this.#take(this.#rows.relaid());
  }

  /** A row with the marks of `svc` that this terminal can draw. */
  drawable(row: string): string {
    return this.#terminal.hasUnicode ? row : inAscii(row);
  }

  #newRows(gutter: string): QuotedRows {
    const { hasControls } = this.#terminal;
    return new QuotedRows({ hasControls, gutter }, () => this.#screen.columns);
  }

  #take(text: string): void {
    const feed = text.lastIndexOf('\n');
    if (feed === -1) {
      this.#begun += text;
      return;
    }
    const rows = (this.#begun + text.slice(0, feed)).split('\n');
    this.#begun = text.slice(feed + 1);
    this.#screen.append(rows.map((row) => (this.#quoted === 'thinking' ? this.#dim(row) : row)));
  }
}

/** Marks of `svc`, each as wide as before, for terminals that draw ASCII alone. */
function inAscii(row: string): string {
  return row.replaceAll(/[·…✗]/g, (mark) => (mark === '·' ? '-' : mark === '…' ? '~' : 'x'));
}
