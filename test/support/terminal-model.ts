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

/**
 * What a terminal makes of what it is sent: the rows that stand on it and are scrolled out of it. It wraps, as told, at its width, knows the
 * controls that move within a row, and notes every other sequence that it would have acted on.
 */
export class TerminalModel {
  readonly #columns: number;
  readonly #rows: string[][] = [[]];
  #column = 0;
  #wraps = true;
  /** Sequences that do something else than colour a text, end a row, erase one or stop wrapping. */
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
    const row = this.#rows.at(-1)!;
    if (piece === '\n') {
      this.#rows.push([]);
      return;
    }
    if (piece === '\r') this.#column = 0;
    else if (piece === '\u001B[?7l') this.#wraps = false;
    else if (piece === '\u001B[?7h') this.#wraps = true;
    else if (piece === '\u001B[2K') row.length = 0;
    else if (piece.startsWith('\u001B[') && /^\[[\d;]*m$/.test(piece.slice(1))) return;
    else if (/^[\p{Cc}\u202A-\u202E\u2066-\u2069\u200B-\u200F]/u.test(piece)) this.acts.push(piece);
    else this.#draw(piece);
  }

  #draw(character: string): void {
    const cells = cellsOf(character);
    if (cells > 0 && this.#column + cells > this.#columns) {
      if (this.#wraps) this.#rows.push([]);
      this.#column = this.#wraps ? 0 : this.#columns - cells;
    }
    const row = this.#rows.at(-1)!;
    while (row.length < this.#column) row.push(' ');
    if (cells === 0) row[Math.max(0, this.#column - 1)] += character;
    else row.splice(this.#column, cells, character, ...Array.from({ length: cells - 1 }, () => ''));
    this.#column += cells;
  }
}
