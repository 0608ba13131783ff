/** Draws a transcript that only grows, and below it a few rows that change. */

import { cutting, type Output } from './output.ts';
import { Shown } from './shown.ts';
import { cellsOf, colour, cutToWidth, hang, widthOf, withCursor, withoutJoiner } from './terminal-kind.ts';

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
const fewestColumns = 20;

/** The terminal shows what stands between these two at once. */
const frameStart = '\u001B[?2026h';
const frameEnd = '\u001B[?2026l';
const hideCursor = '\u001B[?25l';
const showCursor = '\u001B[?25h';
/** To the end of the row; at the start of one, it is a row by itself from then on. */
const eraseRight = '\u001B[K';
const eraseBelow = '\u001B[J';
const askPosition = '\u001B[6n';
const colours = new RegExp(colour, 'g');

/**
 * A transcript whose rows are written once each, so that the terminal's own scrollback has all of it; and below it live rows, such as a
 * status and a line of input. One write a frame, which sends only rows that differ. The caller hands in rows of the transcript as they come, laid out for
 * `columns`; the screen asks for the live rows with each frame.
 *
 * Between frames the terminal's cursor waits at the start of the first live row, hidden, and the place where the person types is drawn. A terminal changes
 * its width long before a program hears of it, and re-wraps what it shows, but its cursor stays at the character where it was: so whatever the
 * width has become, what is erased from there on are live rows and all of them (docs/adr/terminal-and-viewer.md "The cursor waits above the live rows").
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
  /** What stands on the screen below the transcript. */
  #drawn: readonly string[] = [];
  /** The live rows are drawn anew as a whole: their width has changed. */
  #isStale = false;
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

  /** The width of live rows: less where one that is wrapped by the terminal would take its cursor along. */
  get liveColumns(): number {
    const { columns } = this;
    return this.#output.terminal?.sinksCursor === true ? Math.max(fewestColumns, Math.floor(columns / 2)) : columns;
  }

  /** How many live rows are shown at the most: never more than the screen has, from which the cursor could not go up. */
  get maxLiveRows(): number {
    return Math.min(this.#screenRows, Math.max(fewestLiveRows, Math.floor(this.#screenRows * partOfScreen)));
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

  /** Node asks the terminal for its size when it hears that signal, which a busy process hears late: rows would be laid out for another width. */
  #lookAtSize(): void {
    process.emit('SIGWINCH', 'SIGWINCH');
  }

  /** Takes the live rows away, for as long as something else has the terminal. */
  suspend(): void {
    this.flush();
    this.#write(this.#erased() + this.#cursor(true));
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
    this.#write(this.#changes() + this.#cursor(true));
    this.#isClosed = true;
    this.#output.stream.off('resize', this.#resized);
    process.off('exit', this.#exiting);
  }

  readonly #exiting = (): void => this.close();

  /** The last of the live rows, where there are too many. */
  #want({ rows, cursor }: LiveRows): void {
    const left = Math.max(0, rows.length - this.maxLiveRows);
    this.#wanted = rows.slice(left).map((row, index) => {
      const fitting = this.#fitting(row, index === 0 ? this.columns : this.liveColumns);
      return cursor !== null && cursor.row === left + index ? withCursor(fitting, cursor.column) : fitting;
    });
  }

  get #screenRows(): number {
    const { rows = 0 } = this.#output.stream as { rows?: number };
    // A terminal that says 0 does not know.
    return rows > 0 ? rows : usualScreenRows;
  }

  #fitting(row: string, columns: number): string {
    const plain = plainOf(row);
    return widthOf(plain) <= columns ? row : cutToWidth(plain, columns);
  }

  /** A row of the transcript in as many as the width takes; one of others stays behind the gutter. */
  #refitted(row: string): readonly string[] {
    const { columns } = this;
    const plain = plainOf(row);
    if (widthOf(plain) <= columns) return [row];
    const { gutter = '', asideGutter = '' } = this.#output.terminal ?? {};
    const start = [gutter, asideGutter].find((each) => each !== '' && plain.startsWith(each)) ?? hang;
    if (columns <= start.length + 1) return [row];
    const rows: string[] = [];
    let begun = '';
    let cells = 0;
    for (const character of plain) {
      if (cells + cellsOf(character) > columns) {
        rows.push(withoutJoiner(begun));
        begun = start;
        cells = start.length;
      }
      begun += character;
      cells += cellsOf(character);
    }
    return [...rows, begun];
  }

  #changes(): string {
    const isAnew = this.#transcript.length > 0 || this.#isStale || this.#drawn.length > this.#wanted.length;
    const text = isAnew ? this.#grown() + this.#allRows() : this.#changedRows();
    return this.#cursor(this.#drawn.length === 0) + text;
  }

  /** The transcript goes on where the live rows stood. The line feed comes first: were the cursor at the start of a row that is re-wrapped then, it would lead into that row. */
  #grown(): string {
    const rows = this.#transcript.flatMap((row) => (this.#isSure(row) ? [row] : this.#refitted(row).map(cutting)));
    this.#transcript = [];
    return this.#erased() + rows.map((row) => `${row}\n\r`).join('');
  }

  /** Whether no terminal counts the row wider than it is: then none that is narrower than was heard so far may cut it. */
  #isSure(row: string): boolean {
    return (this.#output.terminal?.maxCellsOf(plainOf(row)) ?? 0) <= this.columns;
  }

  /** Returns the text that draws the rows that differ, from the first to the last. A line feed makes a row that is not there yet; a movement of the cursor does not. */
  #changedRows(): string {
    let text = '';
    let at = 0;
    for (const [index, row] of this.#wanted.entries()) {
      if (this.#drawn[index] === row) continue;
      // In the last column the cursor stands on what was written there.
      const rest = widthOf(plainOf(row)) < this.columns ? eraseRight : '';
      text += `${'\n'.repeat(index - at)}${row}${rest}\r`;
      at = index;
    }
    this.#drawn = this.#wanted;
    return text === '' ? '' : cutting(text) + up(at);
  }

  /** All, below which nothing stands, from the last to the first: when the terminal re-wraps meanwhile, those above are blank and take no more rows. */
  #allRows(): string {
    this.#drawn = this.#wanted;
    const last = this.#drawn.length - 1;
    if (last < 0) return '';
    const rows = this.#drawn.map((row, index) => `${'\n'.repeat(index)}${row}\r${up(index)}`);
    return `${'\n'.repeat(last)}${up(last)}${cutting(rows.toReversed().join(''))}`;
  }

  /** Erases the live rows. What is erased from the first cell of the screen on, tmux keeps in its scrollback: so that is not where it begins. */
  #erased(): string {
    const text = this.#drawn.length === 0 ? '' : ` ${eraseBelow}\r${eraseRight}`;
    this.#drawn = [];
    this.#isStale = false;
    return text;
  }

  #cursor(isShown: boolean): string {
    if (this.#isCursorHidden !== isShown) return '';
    this.#isCursorHidden = !isShown;
    return isShown ? showCursor : hideCursor;
  }

  /** The terminal has re-wrapped the live rows: they are erased from where its cursor is, and drawn for the new width. */
  readonly #resized = (): void => {
    this.#columns = this.#output.rowWidth;
    if (this.#isClosed || this.#isSuspended) return;
    this.#isStale = this.#drawn.length > 0;
    // Laid out for the old width, and not written yet.
    this.#transcript = this.#transcript.flatMap((row) => this.#refitted(row));
    this.#onResize();
    this.changed();
  };

  #write(text: string): void {
    if (text === '') return;
    this.#output.write(Shown.cleaned(frameStart + text + frameEnd, 'exact'));
  }
}

function up(rows: number): string {
  return rows === 0 ? '' : `\u001B[${rows}A`;
}

/** Without the colours of `svc`. */
function plainOf(row: string): string {
  return row.replaceAll(colours, '');
}
