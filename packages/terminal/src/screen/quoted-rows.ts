/** Lays out text of others on a terminal, every row behind the gutter. */

import { InertText } from './inert-text.ts';
import type { Terminal } from './output.ts';
import { cellsOf, withoutJoiner } from './terminal-kind.ts';

const tabCells = 4;
const blank = /[ \t\n]/g;
const oneCell = /^[!-~]*$/;
const plain = /^[ -~]*$/;

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
  /** The text of that row. */
  #row = '';
  /** Shown once it is known whether it fits. */
  #word = '';
  #wordCells = 0;
  #blanks = 0;

  constructor(kind: Pick<Terminal, 'hasControls' | 'gutter'>, columns: () => number) {
    this.#kind = kind;
    this.#columns = columns;
  }

  /** The row that is begun and not ended, as it would be if it ended now: none between rows, two where its last word would begin another. */
  get openRows(): readonly string[] {
    const { gutter } = this.#kind;
    if (this.#wide === null) return this.#word === '' ? [] : [`${gutter}${' '.repeat(this.#blanks)}${this.#word}`];
    if (this.#word === '') return [gutter + this.#row];
    const fits = this.#wide + this.#blanks + this.#wordCells <= this.#room();
    if (fits) return [`${gutter}${this.#row}${' '.repeat(this.#blanks)}${this.#word}`];
    return [gutter + this.#row, gutter + this.#word];
  }

  /** What to show instead of the open row where the width has changed. */
  relaid(): string {
    const text = `${this.#wide === null ? '' : this.#row}${' '.repeat(this.#blanks)}${this.#word}`;
    this.#wide = null;
    this.#word = '';
    this.#wordCells = this.#blanks = 0;
    return this.#lay(text);
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
    for (let at = 0; at < text.length;) {
      const first = text[at];
      const line = this.#fitting(text, at);
      if (line !== '') {
        shown += this.#addFitting(line);
        at += line.length;
      } else if (first === '\n') {
        shown += `${this.#endWord()}${this.#beginRow()}\n`;
        this.#wide = null;
        this.#blanks = 0;
        at += 1;
      } else if (first === ' ' || first === '\t') {
        shown += this.#blank(first === ' ' ? 1 : tabCells);
        at += 1;
      } else {
        blank.lastIndex = at;
        const word = text.slice(at, blank.exec(text)?.index);
        shown += this.#addWord(word);
        at += word.length;
      }
    }
    return shown;
  }

  /** How the line goes on from `at`, up to its end or a blank, as far as it is plain and the row has room: most text does. */
  #fitting(text: string, at: number): string {
    const left = this.#room() - (this.#wide ?? 0) - this.#blanks - this.#wordCells;
    if (left <= 0) return '';
    const ahead = text.slice(at, at + left + 1);
    const feed = ahead.indexOf('\n');
    const end = feed === -1 ? ahead.length : feed;
    const line = ahead.slice(0, end <= left ? end : ahead.lastIndexOf(' ', left - 1) + 1);
    return plain.test(line) ? line : '';
  }

  #addFitting(line: string): string {
    const lastWord = line.lastIndexOf(' ') + 1;
    const before = this.#word + line.slice(0, lastWord);
    if (lastWord === 0) this.#word += line;
    else this.#word = line.slice(lastWord);
    const cells = this.#wordCells;
    this.#wordCells = lastWord === 0 ? cells + line.length : this.#word.length;
    if (lastWord === 0) return '';
    const words = before.trimEnd();
    if (words === '') {
      this.#blanks += before.length;
      return '';
    }
    const begun = this.#beginRow();
    const added = ' '.repeat(this.#blanks) + words;
    this.#row += added;
    this.#wide = (this.#wide ?? 0) + this.#blanks + cells + words.length - (before.length - lastWord);
    this.#blanks = before.length - words.length;
    return begun + added;
  }

  #addWord(word: string): string {
    if (oneCell.test(word) && this.#wordCells + word.length <= this.#room()) {
      this.#word += word;
      this.#wordCells += word.length;
      return '';
    }
    let shown = '';
    for (const character of word) shown += this.#addToWord(character);
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
    if (isFull) this.#word = withoutJoiner(this.#word);
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
    this.#row += ' '.repeat(this.#blanks) + this.#word;
    this.#wide = (this.#wide ?? 0) + this.#blanks + this.#wordCells;
    this.#word = '';
    this.#wordCells = this.#blanks = 0;
    return shown;
  }

  #beginRow(): string {
    if (this.#wide !== null) return '';
    this.#wide = 0;
    this.#row = '';
    return this.#kind.gutter;
  }

  /** Cells behind the gutter. */
  #room(): number {
    return this.#columns() - this.#kind.gutter.length;
  }
}
