/** A sequence, a control string with what ends it, or one character. */
const pieces = new RegExp(
  [
    '(?:\u001B\\[|\u009B)[0-?]*[ -/]*[@-~]',
    '(?:\u001B[\\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0007\u001B\u009C]*(?:\u0007|\u001B\\\\|\u009C)?',
    '\u001B[ -/]*[0-~]',
    '[^]',
  ].join('|'),
  'gu',
);

/** Cells that most terminals give a character; those that terminals disagree on are drawn wide, as by the widest of them. */
function cellsOf(character: string): number {
  if (/^[ -\u024F\u2500-\u257F\u2022\u2026\u2713\u2717\u2014]$/u.test(character)) return 1;
  return /^[\p{M}\p{Cf}]$/u.test(character) ? 0 : 2;
}

/** What a program writes that draws rows again: the cursor shown or not, a frame begun or ended, pastes marked, asked where it is. */
const drawing: ReadonlySet<string> = new Set([
  '\u001B[?25h',
  '\u001B[?25l',
  '\u001B[?2026h',
  '\u001B[?2026l',
  '\u001B[?2004h',
  '\u001B[?2004l',
  '\u001B[6n',
]);

/**
 * What a terminal of any height makes of its input: the rows that stand on it and are scrolled out of it. It wraps at its width,
 * knows the controls that `svc` moves with and erases by, and notes every other sequence that it would have acted on.
 */
export class TerminalModel {
  readonly #columns: number;
  readonly #rows: string[][] = [[]];
  #row = 0;
  #column = 0;
  #wraps = true;
  /** Sequences that do something else than colour a text, move between rows, erase from there on or stop wrapping. */
  readonly acts: string[] = [];

  constructor(columns: number) {
    this.#columns = columns;
  }

  get rows(): readonly string[] {
    return this.#rows.map((row) => row.join('').trimEnd());
  }

  write(text: string): void {
    for (const [piece] of text.matchAll(pieces)) this.#take(piece);
  }

  #take(piece: string): void {
    if (piece === '\n') this.#feed();
    else if (piece === '\r') this.#column = 0;
    else if (piece === '\u001B[?7l') this.#wraps = false;
    else if (piece === '\u001B[?7h') this.#wraps = true;
    else if (piece === '\u001B[2K') this.#current.length = 0;
    else if (piece === '\u001B[K') this.#current.splice(this.#column);
    else if (piece === '\u001B[J') this.#eraseBelow();
    else if (/^\[\d+[ABC]$/.test(piece.slice(1))) this.#move(piece);
    else if (drawing.has(piece) || (piece.startsWith('\u001B[') && /^\[[\d;]*m$/.test(piece.slice(1)))) return;
    else if (/^[\p{Cc}\u202A-\u202E\u2066-\u2069\u200B-\u200F]/u.test(piece)) this.acts.push(piece);
    else this.#draw(piece);
  }

  get #current(): string[] {
    return (this.#rows[this.#row] ??= []);
  }

  #feed(): void {
    this.#row += 1;
    void this.#current;
  }

  #eraseBelow(): void {
    this.#current.splice(this.#column);
    this.#rows.length = this.#row + 1;
  }

  #move(piece: string): void {
    const many = Number.parseInt(piece.slice(2), 10);
    if (piece.endsWith('A')) this.#row = Math.max(0, this.#row - many);
    else if (piece.endsWith('B')) this.#row = Math.min(this.#rows.length - 1, this.#row + many);
    else this.#column = Math.min(this.#columns - 1, this.#column + many);
  }

  #draw(character: string): void {
    const cells = cellsOf(character);
    if (cells > 0 && this.#column + cells > this.#columns) {
      if (this.#wraps) this.#feed();
      this.#column = this.#wraps ? 0 : this.#columns - cells;
    }
    const row = this.#current;
    while (row.length < this.#column) row.push(' ');
    if (cells === 0) row[Math.max(0, this.#column - 1)] += character;
    else row.splice(this.#column, cells, character, ...Array.from({ length: cells - 1 }, () => ''));
    this.#column += cells;
  }
}
