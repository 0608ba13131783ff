/** Draws a transcript that only grows, and below it a few rows that change. */

import type { Output } from './output.ts';
import { Shown } from './shown.ts';
import { cellsOf, colour, cutToWidth, hang, widthOf } from './terminal-kind.ts';

/** Where the person types: a row of the live rows, and a column of it, both from 0. */
export interface Cursor {
  readonly row: number;
  readonly column: number;
}

/** What stands below the transcript. Without a cursor, nobody types. */
export interface LiveRows {
  readonly rows: readonly string[];
  readonly cursor: Cursor | null;
}

/** Thirty frames a second: an eye sees no more. */
export const usualFrameMs = 33;

/** The live rows take at most this part of the screen. */
const partOfScreen = 1 / 3;
const fewestLiveRows = 2;
const usualScreenRows = 24;

/** The terminal shows what stands between these two at once. */
const frameStart = '\u001B[?2026h';
const frameEnd = '\u001B[?2026l';
/** Between these two a row that the terminal counts wider than `svc` does is cut and not continued. */
const cutRows = '\u001B[?7l';
const continueRows = '\u001B[?7h';
const hideCursor = '\u001B[?25l';
const showCursor = '\u001B[?25h';
const eraseBelow = '\u001B[J';
const eraseRight = '\u001B[K';
const askPosition = '\u001B[6n';
const colours = new RegExp(colour, 'g');

/**
 * A transcript of which every row is written once and never again, so the terminal's own scrollback has all of it; and below it live rows, such as a
 * status and a line of input. One write a frame, in which only rows that differ are sent. Rows of the transcript are handed in as they come, laid out for
 * `columns`; the live rows are asked for with each frame.
 */
export class LiveScreen {
  readonly isLive = true;
  readonly #output: Output;
  readonly #onResize: () => void;
  readonly #live: () => LiveRows;
  #columns: number;
  #frameMs = usualFrameMs;
  #timer: NodeJS.Timeout | undefined;
  #transcript: string[] = [];
  #wanted: readonly string[] = [];
  #wantedCursor: Cursor | null = null;
  /** What stands on the screen below the transcript. */
  #drawn: readonly string[] = [];
  /** Where the terminal's cursor is, counted from the first live row. */
  #at: Cursor = { row: 0, column: 0 };
  #isCursorHidden = false;
  #isClosed = false;
  #isSuspended = false;

  /** `onResize` is called before the next frame when `columns` has changed. */
  constructor(output: Output, live: () => LiveRows, onResize: () => void) {
    this.#output = output;
    this.#live = live;
    this.#onResize = onResize;
    this.#columns = output.rowWidth;
    output.stream.on('resize', this.#resized);
    process.on('exit', this.#exiting);
  }

  get columns(): number {
    return this.#columns;
  }

  /** How many live rows are shown at the most. */
  get mostLiveRows(): number {
    return Math.max(fewestLiveRows, Math.floor(this.#screenRows * partOfScreen));
  }

  /** Whether there is room for no more than a status and an input. */
  get isSmall(): boolean {
    return this.columns < 40 || this.#screenRows < 8;
  }

  /** A terminal far away gets fewer frames. */
  set frameMs(ms: number) {
    this.#frameMs = ms;
  }

  /** Rows for the end of the transcript. */
  append(rows: readonly string[]): void {
    if (rows.length === 0) return;
    for (const row of rows) this.#transcript.push(row);
    this.changed();
  }

  /** The live rows may have changed: they are drawn with the next frame. */
  changed(): void {
    if (this.#isClosed || this.#isSuspended) return;
    this.#timer ??= setTimeout(() => this.flush(), this.#frameMs);
  }

  /** Writes what is new at once. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isClosed || this.#isSuspended) return;
    this.#lookAtSize();
    this.#want(this.#live());
    this.#write(this.#changes());
  }

  /**
   * Node asks the terminal for its size when it hears that signal, which a busy process hears late: a frame for another width would be cut by the terminal, and
   * the rows that it takes counted wrong.
   */
  #lookAtSize(): void {
    process.emit('SIGWINCH', 'SIGWINCH');
  }

  /** Takes the live rows away, for as long as something else has the terminal. */
  suspend(): void {
    this.flush();
    this.#write(this.#erased() + this.#withCursor(true));
    this.#isSuspended = true;
  }

  /** Draws the live rows again, from a row of their own. */
  resume(): void {
    this.#isSuspended = false;
    this.redraw();
  }

  /** Asks the terminal where its cursor is, which it answers as a key: how long that takes says how far away it is. */
  askPosition(): void {
    this.#output.write(Shown.cleaned(askPosition, 'exact'));
  }

  /** Draws the live rows again where they stand. */
  redraw(): void {
    this.#write(this.#erased());
    this.changed();
  }

  /** The last frame: the live rows are taken away, and what is written behind it begins a row. */
  close(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#want({ rows: [], cursor: null });
    this.#write(this.#changes() + this.#erased() + this.#withCursor(true));
    this.#isClosed = true;
    this.#output.stream.off('resize', this.#resized);
    process.off('exit', this.#exiting);
  }

  readonly #exiting = (): void => this.close();

  /** The last of the live rows, where there are too many. */
  #want({ rows, cursor }: LiveRows): void {
    const left = Math.max(0, rows.length - this.mostLiveRows);
    this.#wanted = rows.slice(left).map((row) => this.#fitting(row));
    this.#wantedCursor = cursor === null ? null : { row: Math.max(0, cursor.row - left), column: cursor.column };
  }

  get #screenRows(): number {
    return (this.#output.stream as { rows?: number }).rows ?? usualScreenRows;
  }

  #fitting(row: string): string {
    const plain = plainOf(row);
    return widthOf(plain) <= this.columns ? row : cutToWidth(plain, this.columns);
  }

  /** A row of the transcript in as many as the width takes; one of others stays behind the gutter. */
  #refitted(row: string): readonly string[] {
    const { columns } = this;
    const plain = plainOf(row);
    if (widthOf(plain) <= columns) return [row];
    const gutter = this.#output.terminal?.gutter ?? '';
    const start = gutter !== '' && plain.startsWith(gutter) ? gutter : hang;
    if (columns <= start.length + 1) return [row];
    const rows: string[] = [];
    let begun = '';
    let cells = 0;
    for (const character of plain) {
      if (cells + cellsOf(character) > columns) {
        rows.push(begun);
        begun = start;
        cells = start.length;
      }
      begun += character;
      cells += cellsOf(character);
    }
    return [...rows, begun];
  }

  #changes(): string {
    const text = this.#transcript.length > 0 ? this.#grown() : this.#changedRows();
    const cursor = this.#wantedCursor;
    const to = cursor ?? { row: Math.max(0, this.#drawn.length - 1), column: 0 };
    const isAway = to.row !== this.#at.row || to.column !== this.#at.column;
    if (text === '' && !isAway && this.#isCursorHidden === (cursor === null && this.#drawn.length > 0)) return '';
    const moved = `${verticalMove(this.#at.row, to.row)}\r${to.column > 0 ? `\u001B[${to.column}C` : ''}`;
    this.#at = to;
    return text + moved + this.#withCursor(cursor !== null || this.#drawn.length === 0);
  }

  /** The transcript goes on where the live rows stood, and they follow it. */
  #grown(): string {
    const text = `${this.#erased()}${this.#transcript.join('\r\n')}\r\n`;
    this.#transcript = [];
    return text + this.#allRows();
  }

  #changedRows(): string {
    const rows = this.#wanted;
    if (this.#drawn.length > rows.length) return this.#erased() + this.#allRows();
    let text = '';
    for (const [index, row] of rows.entries()) {
      if (this.#drawn[index] === row) continue;
      // A row that is not there yet is made by line feeds, which scroll; a movement of the cursor does not.
      const last = Math.max(0, this.#drawn.length - 1, this.#at.row);
      text += index > last ? verticalMove(this.#at.row, last) + '\r\n'.repeat(index - last) : '';
      text += index > last ? '' : verticalMove(this.#at.row, index);
      // In the last column the cursor stands on what was written there.
      text += `\r${row}${widthOf(plainOf(row)) < this.columns ? eraseRight : ''}`;
      this.#at = { row: index, column: -1 };
      this.#drawn = [...this.#drawn.slice(0, index), row, ...this.#drawn.slice(index + 1)];
    }
    return text;
  }

  #allRows(): string {
    this.#drawn = this.#wanted;
    this.#at = { row: Math.max(0, this.#drawn.length - 1), column: this.#drawn.length === 0 ? 0 : -1 };
    return this.#drawn.join('\r\n');
  }

  /** Erases the live rows; the cursor is at the start of the first. */
  #erased(): string {
    const text = this.#drawn.length === 0 ? '' : `${verticalMove(this.#at.row, 0)}\r${eraseBelow}`;
    this.#forget();
    return text;
  }

  #forget(): void {
    this.#drawn = [];
    this.#at = { row: 0, column: 0 };
  }

  #withCursor(isShown: boolean): string {
    if (this.#isCursorHidden !== isShown) return '';
    this.#isCursorHidden = !isShown;
    return isShown ? showCursor : hideCursor;
  }

  /** As many rows as the old live rows now take are erased; the transcript is left to the terminal. */
  readonly #resized = (): void => {
    this.#columns = this.#output.rowWidth;
    if (this.#isClosed || this.#isSuspended) return;
    const { columns } = this;
    const taken = (row: string): number => Math.max(1, Math.ceil(widthOf(plainOf(row)) / columns));
    const above = this.#drawn.slice(0, this.#at.row);
    const rewraps = this.#output.terminal?.rewraps === true;
    const up = rewraps
      ? above.reduce((sum, row) => sum + taken(row), 0) + Math.floor(Math.max(0, this.#at.column) / columns)
      : above.length;
    if (this.#drawn.length > 0) this.#write(`${verticalMove(up, 0)}\r${eraseBelow}`);
    this.#forget();
    // Laid out for the old width, and not written yet.
    this.#transcript = this.#transcript.flatMap((row) => this.#refitted(row));
    this.#onResize();
    this.changed();
  };

  #write(text: string): void {
    if (text === '') return;
    this.#output.write(Shown.cleaned(frameStart + cutRows + text + continueRows + frameEnd, 'exact'));
  }
}

function verticalMove(from: number, to: number): string {
  if (from === to) return '';
  return to > from ? `\u001B[${to - from}B` : `\u001B[${from - to}A`;
}

/** Without the colours of `svc`. */
function plainOf(row: string): string {
  return row.replaceAll(colours, '');
}
