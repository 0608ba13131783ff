/** A model of a terminal that wraps what it shows anew when its width changes, as tmux does, between any two characters that it is sent. */

interface Line {
  cells: string[];
  /** The text goes on in the next line: the terminal has wrapped it. */
  goesOn: boolean;
}

/** What follows the escape. */
const sequence = /^\[(\??[\d;]*)([A-Za-z])$/;

/** Knows the controls that `svc` draws rows with, and throws at any other. Every character is one cell. */
export class ReflowingTerminal {
  #columns: number;
  #height: number;
  /** Those scrolled out, the oldest first, and then `#height` lines of the screen. */
  #lines: Line[];
  #column = 0;
  /** Counted from the oldest line. */
  #line = 0;
  #wraps = true;
  /** A sequence that has begun. */
  #held = '';

  constructor(columns: number, height: number) {
    this.#columns = columns;
    this.#height = height;
    this.#lines = Array.from({ length: height }, blank);
  }

  /** The rows from the oldest on, a wrapped one as one, without blanks behind them. */
  get rows(): readonly string[] {
    const rows: string[] = [];
    let begun = '';
    for (const { cells, goesOn } of this.#lines) {
      begun += cells.join('');
      if (goesOn) continue;
      rows.push(begun.trimEnd());
      begun = '';
    }
    return rows;
  }

  write(text: string): void {
    for (const character of text) this.#take(character);
  }

  resize(columns: number, height: number): void {
    if (height !== this.#height) this.#changeHeight(height);
    if (columns !== this.#columns) this.#rewrap(columns);
    if (this.#line >= this.#top) return;
    this.#line = this.#top;
    this.#column = 0;
  }

  get #top(): number {
    return this.#lines.length - this.#height;
  }

  /** A lower screen first loses lines below the cursor, then its upper ones to the history; a higher one gets them back. */
  #changeHeight(height: number): void {
    const below = this.#lines.length - 1 - this.#line;
    const lost = Math.min(below, Math.max(0, this.#height - height));
    this.#lines.length -= lost;
    this.#height = height;
    while (this.#lines.length < height) this.#lines.push(blank());
  }

  #rewrap(columns: number): void {
    const lines: Line[] = [];
    let at = { line: 0, column: 0 };
    for (let index = 0; index < this.#lines.length; index += 1) {
      const first = index;
      while (this.#lines[index]?.goesOn === true) index += 1;
      const parts = this.#lines.slice(first, index + 1);
      const cells = parts.flatMap((part) => part.cells);
      const begin = lines.length;
      for (let from = 0; from === 0 || from < cells.length; from += columns)
        lines.push({ cells: cells.slice(from, from + columns), goesOn: from + columns < cells.length });
      if (this.#line < first || this.#line > index) continue;
      const before = parts.slice(0, this.#line - first).reduce((sum, part) => sum + part.cells.length, 0);
      // The cursor stays at its character; behind the last one, it stays there.
      const offset = Math.min(before + this.#column, cells.length);
      const down = Math.min(Math.floor(offset / columns), lines.length - 1 - begin);
      at = { line: begin + down, column: offset - down * columns };
    }
    while (lines.length < this.#height) lines.push(blank());
    this.#lines = lines;
    this.#line = at.line;
    this.#column = at.column;
    this.#columns = columns;
  }

  #take(character: string): void {
    if (this.#held !== '' || character === '\u001B') return this.#hold(character);
    if (character === '\n') return this.#feed(false);
    if (character === '\r') this.#column = 0;
    else this.#draw(character);
  }

  #hold(character: string): void {
    this.#held += character;
    if (!/[A-Za-z]/.test(character)) return;
    const [, parameters = '', final = ''] = sequence.exec(this.#held.slice(1)) ?? [];
    this.#held = '';
    const known = `${/^\d+$/.test(parameters) ? 'n' : parameters}${final}`;
    switch (known) {
      case 'nA':
        this.#line = Math.max(this.#top, this.#line - Number(parameters));
        return;
      case 'nB':
        this.#line = Math.min(this.#lines.length - 1, this.#line + Number(parameters));
        return;
      case 'nC':
        this.#column = Math.min(this.#columns - 1, this.#column + Number(parameters));
        return;
      case 'K':
        return this.#eraseRight();
      case 'J':
        return this.#eraseBelow();
      case '?7l':
      case '?7h':
        this.#wraps = known === '?7h';
        return;
      case 'nm':
      case '?25l':
      case '?25h':
      case '?2026l':
      case '?2026h':
        return;
      default:
        throw new Error(`a sequence that the model does not know: ${JSON.stringify(known)}`);
    }
  }

  get #current(): Line {
    return this.#lines[this.#line]!;
  }

  #feed(goesOn: boolean): void {
    if (goesOn) this.#current.goesOn = true;
    this.#line += 1;
    if (this.#line === this.#lines.length) this.#lines.push(blank());
  }

  #draw(character: string): void {
    if (this.#column >= this.#columns) {
      if (this.#wraps) this.#feed(true);
      this.#column = this.#wraps ? 0 : this.#columns - 1;
    }
    const { cells } = this.#current;
    while (cells.length < this.#column) cells.push(' ');
    cells[this.#column] = character;
    this.#column += 1;
    if (!this.#wraps) this.#column = Math.min(this.#column, this.#columns - 1);
  }

  /** When a whole line is erased, it does not belong to the line above any more. */
  #eraseRight(): void {
    this.#current.cells.length = Math.min(this.#current.cells.length, this.#column);
    this.#current.goesOn = false;
    const above = this.#lines[this.#line - 1];
    if (this.#column === 0 && above !== undefined) above.goesOn = false;
  }

  #eraseBelow(): void {
    if (this.#column === 0 && this.#line === this.#top) {
      // The whole screen is erased: what it shows is kept.
      while (this.#lines.at(-1)?.cells.length === 0) this.#lines.pop();
      this.#line = this.#lines.length;
      while (this.#lines.length < this.#line + this.#height) this.#lines.push(blank());
      return;
    }
    this.#eraseRight();
    for (let index = this.#line + 1; index < this.#lines.length; index += 1) this.#lines[index] = blank();
  }
}

function blank(): Line {
  return { cells: [], goesOn: false };
}
