/** Draws Markdown on a terminal while it streams. */

import { InertText } from '../inert-text.ts';
import { inBold, inlineSpans, plainStyle, type Span, type Style } from './inline-spans.ts';
import { type LaidRow, laidSpans } from './laid-spans.ts';
import { isDecided, isFenceEnd, type LineKind, lineKind } from './markdown-lines.ts';
import { isDelimiter, MarkdownTable, type TableLook } from './markdown-table.ts';

export interface MarkdownLook {
  readonly gutter: string;
  readonly hasUnicode: boolean;
  /** Without colours, marks such as `**` stay: nothing else would show what they say. */
  readonly colours: Readonly<Record<'bold' | 'italic' | 'cyan' | 'dim', (text: string) => string>> | null;
}

/** So much of a paragraph waits for the end of a mark, and so much of a line for what it begins. */
const maxHeld = 4 * 1024;
/** And so much of a table for the widths of its columns. */
const maxTable = 64 * 1024;
/** A paragraph is laid out with each piece up to this length, then each time that it has grown by a quarter. */
const eachPiece = 128;
/** The end of what waits is shown below the transcript, in no more rows. */
const maxOpen = 2 * 1024;
const maxOpenRows = 64;

interface Block {
  readonly kind: 'text' | 'heading' | 'code';
  /** Shown before the text as it is. */
  readonly lead: readonly Span[];
  readonly isBold: boolean;
  /** Cells before rows in which the line goes on; null for its own indent. */
  hang: number | null;
  /** Whether the next row goes on with a line. */
  goesOn: boolean;
  source: string;
  /** So many characters of what is shown are in rows that were given. */
  given: number;
  /** The length of the source when it was last laid out. */
  laidAt: number;
}

/**
 * Lays out an answer in rows behind the gutter: inert, and without the marks of Markdown that are drawn. A row is given once nothing that follows can change it, and never
 * again. What may still change is bounded: a longer paragraph, line or table is drawn in parts.
 */
export class MarkdownRows {
  readonly #look: MarkdownLook;
  readonly #columns: () => number;
  readonly #text = new InertText();
  /** The start of a line that does not say yet what it begins. */
  #line = '';
  /** Whether the rest of the line belongs to the block. */
  #isInLine = false;
  #block: Block | null = null;
  /** The fence of the code that is open. */
  #fence: string | null = null;
  /** Lines of a table, or one that may be the head of one. */
  #table: string[] = [];
  #tableLength = 0;
  #drawing: MarkdownTable | null = null;
  #rows: string[] = [];

  constructor(look: MarkdownLook, columns: () => number) {
    this.#look = look;
    this.#columns = columns;
  }

  /** The rows that the next piece makes final. */
  push(piece: string): readonly string[] {
    this.#take(this.#text.push(piece));
    this.#settle();
    return this.#takeRows();
  }

  /** The rest. Makes ready for another text. */
  end(): readonly string[] {
    this.#take(this.#text.end());
    if (this.#line !== '' || this.#isInLine) this.#endLine();
    this.#endTable();
    this.#endBlock();
    this.#fence = null;
    return this.#takeRows();
  }

  /** The rows that may still change, as they would be if the text ended now. */
  get openRows(): readonly string[] {
    const waiting = [...this.#table, this.#line].join('\n').slice(-maxOpen).replace(/\n$/, '');
    const rows = this.#block === null ? [] : this.#laid(this.#spansOf(this.#block, true).spans, this.#block);
    const raw = waiting === '' ? [] : this.#laidPlain(waiting);
    return [...rows, ...raw].slice(-maxOpenRows).map(({ text }) => this.#look.gutter + text);
  }

  #takeRows(): readonly string[] {
    const rows = this.#rows.map((row) => this.#look.gutter + row);
    this.#rows = [];
    return rows;
  }

  #take(text: string): void {
    for (let at = 0; at < text.length;) {
      const feed = text.indexOf('\n', at);
      const held = this.#isInLine ? (this.#block?.source.length ?? 0) : this.#line.length;
      const most = this.#isInLine ? maxHeld : this.#mostOfLine;
      const end = Math.min(feed === -1 ? text.length : feed, at + Math.max(1, most - held));
      this.#takeInLine(text.slice(at, end));
      at = end;
      if (text[at] !== '\n') continue;
      this.#endLine();
      at += 1;
    }
  }

  /** A part of a line. */
  #takeInLine(part: string): void {
    if (part === '') return;
    if (this.#isInLine && this.#block !== null) this.#block.source += part;
    else {
      this.#line += part;
      const isTooLong = this.#line.length >= this.#mostOfLine;
      const isKnown = this.#fence === null ? isDecided(this.#line) : !mayEndFence(this.#line, this.#fence);
      if (!isKnown && !isTooLong) return;
      this.#beginLine(isTooLong ? { kind: 'text' } : lineKind(this.#line));
    }
    this.#boundBlock();
  }

  get #mostOfLine(): number {
    return this.#fence === null && /^ {0,3}\|/.test(this.#line.slice(0, 4)) ? maxTable : maxHeld;
  }

  /** The line is known, and goes to a block. */
  #beginLine(kind: LineKind): void {
    const line = this.#line;
    this.#line = '';
    this.#isInLine = true;
    if (this.#fence !== null) return this.#begin('code', [], line);
    if (kind.kind !== 'table') this.#endTable();
    switch (kind.kind) {
      case 'heading':
        return this.#begin('heading', this.#look.colours === null ? [plain(kind.before)] : [], kind.rest);
      case 'item': {
        const bullet = this.#look.hasUnicode ? kind.before.replace(/[-*+] $/, '\u2022 ') : kind.before;
        return this.#begin('text', [plain(bullet)], kind.rest);
      }
      case 'quote':
        return this.#begin('text', [plain(kind.before)], kind.rest);
      default:
        // A paragraph goes on where a mark of it is open.
        if (this.#block?.kind === 'text') this.#block.source += line;
        else this.#begin('text', [], line);
    }
  }

  #begin(kind: Block['kind'], lead: readonly Span[], source: string): void {
    this.#endBlock();
    const hang = kind === 'code' ? 0 : (lead[0]?.text.length ?? null);
    const isBold = kind === 'heading';
    this.#block = { kind, lead, isBold, hang, goesOn: false, source, given: 0, laidAt: 0 };
  }

  #endLine(): void {
    if (this.#isInLine) {
      this.#isInLine = false;
      if (this.#block !== null) this.#block.source += '\n';
      if (this.#block?.kind !== 'text') return this.#endBlock();
      this.#settle();
      return this.#boundBlock();
    }
    const line = this.#line;
    this.#line = '';
    if (this.#fence !== null) return this.#codeLine(line, this.#fence);
    const kind = lineKind(line);
    if (kind.kind === 'table') return this.#tableLine(line);
    this.#endTable();
    switch (kind.kind) {
      case 'blank':
        this.#endBlock();
        return void this.#rows.push('');
      case 'rule':
        this.#endBlock();
        return void this.#rows.push(this.#dim((this.#look.hasUnicode ? '\u2500' : '-').repeat(this.#room)));
      case 'fence':
        this.#endBlock();
        this.#fence = kind.fence;
        return this.#fenceRow(this.#look.hasUnicode ? `\u256D ${kind.info}` : line.trim());
      default:
        this.#line = line;
        this.#beginLine(kind);
        return this.#endLine();
    }
  }

  #codeLine(line: string, fence: string): void {
    if (isFenceEnd(line, fence)) {
      this.#fence = null;
      return this.#fenceRow(this.#look.hasUnicode ? '\u2570' : line.trim());
    }
    this.#begin('code', [], `${line}\n`);
    this.#endBlock();
  }

  #fenceRow(text: string): void {
    for (const { text: row } of this.#laidPlain(text)) this.#rows.push(this.#dim(row.trimEnd()));
  }

  #tableLine(line: string): void {
    this.#endBlock();
    this.#table.push(line);
    this.#tableLength += line.length;
    const [head = '', delimiters] = this.#table;
    if (this.#drawing === null && delimiters !== undefined) {
      if (!isDelimiter(delimiters)) {
        this.#table = [delimiters];
        this.#tableLength = delimiters.length;
        return this.#asText(head);
      }
      this.#drawing = new MarkdownTable(head, delimiters);
      this.#table = [];
    }
    if (this.#tableLength >= maxTable) this.#drawTable();
  }

  #drawTable(): void {
    for (const row of this.#drawing?.rows(this.#table, this.#tableLook) ?? []) this.#rows.push(row);
    this.#table = [];
    this.#tableLength = 0;
  }

  #endTable(): void {
    const lines = this.#table;
    if (this.#drawing !== null) this.#drawTable();
    else for (const line of lines.splice(0)) this.#asText(line);
    this.#drawing = null;
    this.#tableLength = 0;
  }

  #asText(line: string): void {
    this.#begin('text', [], `${line}\n`);
    this.#endBlock();
  }

  get #room(): number {
    return this.#columns() - this.#look.gutter.length;
  }

  get #tableLook(): TableLook {
    const { colours, hasUnicode } = this.#look;
    return { room: this.#room, paint: this.#paint, dim: this.#dim, hasUnicode, isStyled: colours !== null };
  }

  readonly #dim = (text: string): string => this.#look.colours?.dim(text) ?? text;

  readonly #paint = (text: string, { bold, italic, code }: Style): string => {
    const { colours } = this.#look;
    if (colours === null) return text;
    const coloured = code ? colours.cyan(text) : text;
    const slanted = italic ? colours.italic(coloured) : coloured;
    return bold ? colours.bold(slanted) : slanted;
  };

  #spansOf(block: Block, isEnded: boolean): { readonly spans: readonly Span[]; readonly settled: number } {
    const { kind, lead, source, isBold } = block;
    const leadLength = lead.reduce((total, { text }) => total + text.length, 0);
    const isStyled = this.#look.colours !== null && kind !== 'code';
    const style = kind === 'code' ? { ...plainStyle, code: true } : plainStyle;
    const { spans, settled } = isStyled
      ? inlineSpans(source, isEnded)
      : { spans: [{ text: source, style }], settled: source.length };
    const shown = isBold ? spans.map(inBold) : spans;
    return { spans: [...lead, ...shown], settled: leadLength + settled };
  }

  #laid(spans: readonly Span[], { given: from, goesOn, hang }: Block): readonly LaidRow[] {
    return laidSpans(spans, { cells: this.#room, from, goesOn, hang }, this.#paint);
  }

  #laidPlain(text: string): readonly LaidRow[] {
    return laidSpans([plain(text)], { cells: this.#room, hang: 0 }, this.#paint);
  }

  #give(block: Block, { text, end, isLine, hang }: LaidRow): void {
    this.#rows.push(text);
    block.given = end;
    block.goesOn = !isLine;
    block.hang = isLine ? null : hang;
  }

  /** Gives the rows of the open block that stay as they are. */
  #settle(): void {
    const block = this.#block;
    if (block === null) return;
    const { length } = block.source;
    if (length > eachPiece && length < block.laidAt * 1.25) return;
    block.laidAt = length;
    const { spans, settled } = this.#spansOf(block, false);
    const rows = settled > block.given ? this.#laid(spans, block) : [];
    for (const [index, row] of rows.entries()) {
      const next = rows[index + 1];
      const isNextWhole = next !== undefined && (next.isLine || index + 2 < rows.length);
      const isFinal = row.isLine ? row.end <= settled : isNextWhole && next.end <= settled;
      if (!isFinal) break;
      this.#give(block, row);
    }
    const shown = spans.reduce((total, { text }) => total + text.length, 0);
    // Nothing is open: what follows is a paragraph of its own.
    if (!this.#isInLine && block.given === shown) this.#block = null;
  }

  #endBlock(): void {
    const block = this.#block;
    this.#block = null;
    if (block === null) return;
    for (const { text } of this.#laid(this.#spansOf(block, true).spans, block)) this.#rows.push(text);
  }

  /** Ends the marks of a block that is longer than what may wait: those that are open are text. Its last row goes on. */
  #boundBlock(): void {
    const block = this.#block;
    if (block === null || block.source.length < maxHeld) return;
    const { spans } = this.#spansOf(block, true);
    const rows = this.#laid(spans, block);
    for (const row of rows.slice(0, -1)) this.#give(block, row);
    const lead = rows.length === 0 ? [] : behind(spans, block.given);
    this.#block = { ...block, lead, source: '', given: 0, laidAt: 0 };
  }
}

const mostBlanks = 1000;
const manyBlanks = / {1000}[ \t]*/g;

/** Whether the start of a line in code may become the end of it. */
function mayEndFence(start: string, fence: string): boolean {
  return isFenceEnd(`${fence}${start.trim()}`, fence);
}

function plain(text: string): Span {
  return { text, style: plainStyle };
}

/** What stands behind so many characters. */
function behind(spans: readonly Span[], characters: number): readonly Span[] {
  let left = characters;
  return spans.flatMap(({ text, style }) => {
    const skipped = Math.min(left, text.length);
    left -= skipped;
    // No row has more blanks.
    const rest = text.slice(skipped).replaceAll(manyBlanks, ' '.repeat(mostBlanks));
    return rest === '' ? [] : [{ text: rest, style }];
  });
}
