/** Finds bold, italic and code in a paragraph of Markdown. */

export interface Style {
  readonly bold: boolean;
  readonly italic: boolean;
  readonly code: boolean;
}

/** A piece of what is shown. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

export const plainStyle: Style = { bold: false, italic: false, code: false };
const codeStyle: Style = { bold: false, italic: false, code: true };

export function inBold({ text, style }: Span): Span {
  return { text, style: { ...style, bold: true } };
}

interface Inline {
  readonly spans: readonly Span[];
  /** So many characters of what is shown stay as they are, whatever the text goes on with. */
  readonly settled: number;
}

/** A piece of the text with how many styles begin before it; those of marks that belong together are not shown. */
interface Piece {
  /** Whether further text may join it. */
  readonly isOpen: boolean;
  text: string;
  isCode: boolean;
  bold: number;
  italic: number;
}

interface Opener {
  readonly piece: Piece;
  readonly length: number;
}

/** Marks that wait for their end: more than a person writes. Further ones are text. */
const maxOpen = 32;
const special = /[\\`*]/g;
const escapable = /[*_`~|#]/;
const wordEnd = /[\p{L}\p{N}]$/u;
const wordStart = /^[\p{L}\p{N}]/u;

/**
 * The spans of a paragraph: what stands between `*`, `**` and backticks, without these. A mark without its counterpart is text, as are underscores, links and
 * HTML. `isEnded` is false where the paragraph may go on. Takes time in proportion to the text.
 */
export function inlineSpans(text: string, isEnded: boolean): Inline {
  return new InlineReader(text, isEnded).read();
}

class InlineReader {
  readonly #text: string;
  readonly #isEnded: boolean;
  readonly #pieces: Piece[] = [];
  readonly #open: Opener[] = [];
  /** Where each length of backticks stands, the last one first. */
  readonly #ticks = new Map<number, number[]>();
  /** The first piece that may still change. */
  #unsure: Piece | null = null;

  constructor(text: string, isEnded: boolean) {
    this.#text = text;
    this.#isEnded = isEnded;
    if (!text.includes('`')) return;
    const runs = Array.from(text.matchAll(/`+/g), ({ 0: run, index }) => [run.length, index] as const);
    for (const [length, index] of runs.toReversed()) {
      const places = this.#ticks.get(length);
      if (places === undefined) this.#ticks.set(length, [index]);
      else places.push(index);
    }
  }

  read(): Inline {
    for (let at = 0; at < this.#text.length;) {
      special.lastIndex = at;
      const next = special.exec(this.#text)?.index ?? this.#text.length;
      if (next > at) this.#addText(this.#text.slice(at, next));
      at = next < this.#text.length ? this.#takeSpecial(next) : next;
    }
    return this.#result();
  }

  #add(text: string, isCode = false): Piece {
    const piece = { isOpen: false, text, isCode, bold: 0, italic: 0 };
    this.#pieces.push(piece);
    return piece;
  }

  /** Text that stays text. */
  #addText(text: string): void {
    const last = this.#pieces.at(-1);
    if (last?.isOpen === true) last.text += text;
    else this.#pieces.push({ isOpen: true, text, isCode: false, bold: 0, italic: 0 });
  }

  /** Returns where to go on. */
  #takeSpecial(at: number): number {
    const text = this.#text;
    if (text[at] === '\\') {
      const isLast = at + 1 === text.length;
      const isEscape = escapable.test(text[at + 1] ?? '');
      if (isLast && !this.#isEnded) this.#unsure ??= this.#add('\\');
      else this.#addText(isEscape ? text.slice(at + 1, at + 2) : '\\');
      return at + (isEscape ? 2 : 1);
    }
    let end = at + 1;
    while (text[end] === text[at]) end += 1;
    return text[at] === '`' ? this.#takeTicks(at, end) : this.#takeStars(at, end);
  }

  #takeTicks(at: number, end: number): number {
    const places = this.#ticks.get(end - at) ?? [];
    while ((places.at(-1) ?? Infinity) < end) places.pop();
    const close = places.at(-1);
    if (close === undefined) {
      const ticks = this.#text.slice(at, end);
      if (this.#isEnded || this.#unsure !== null) this.#addText(ticks);
      else this.#unsure = this.#add(ticks);
      return end;
    }
    const inner = this.#text.slice(end, close);
    const piece = this.#add(/^ .*[^ ].* $/s.test(inner) ? inner.slice(1, -1) : inner, true);
    const closed = close + end - at;
    // The run at the end may grow.
    if (closed === this.#text.length && !this.#isEnded) this.#unsure ??= piece;
    return closed;
  }

  #takeStars(at: number, end: number): number {
    const before = this.#text.slice(Math.max(0, at - 2), at);
    const after = this.#text.slice(end, end + 2);
    let length = end - at;
    if (end === this.#text.length && !this.#isEnded) {
      // The run may grow, and what follows decides whether it ends something.
      const piece = this.#add('*'.repeat(length));
      this.#unsure ??= piece;
      return end;
    }
    const [isAfterBlank, isBeforeBlank] = [/\s$|^$/.test(before), /^\s|^$/.test(after)];
    const isInWord = length === 1 && wordEnd.test(before) && wordStart.test(after);
    if (length <= 3 && !isInWord && !isAfterBlank) length -= this.#close(length);
    if (length === 0) return end;
    const opens = length <= 3 && !isBeforeBlank && !(length === 1 && wordEnd.test(before));
    if (opens && this.#open.length < maxOpen) this.#open.push({ piece: this.#add('*'.repeat(length)), length });
    else this.#addText('*'.repeat(length));
    return end;
  }

  /** Ends what so many stars end; returns how many of them were needed. */
  #close(stars: number): number {
    let used = 0;
    while (used < stars) {
      const left = stars - used;
      const found = this.#open.findLastIndex(({ length }) => length <= left);
      const opener = this.#open[found];
      if (opener === undefined || this.#pieces.at(-1) === opener.piece) break;
      this.#open.length = found;
      const bold = opener.length >= 2 ? 1 : 0;
      const italic = opener.length % 2;
      opener.piece.text = '';
      opener.piece.bold += bold;
      opener.piece.italic += italic;
      const end = this.#add('');
      end.bold -= bold;
      end.italic -= italic;
      used += opener.length;
    }
    return used;
  }

  #result(): Inline {
    const unsure = new Set([this.#unsure, this.#isEnded ? null : (this.#open[0]?.piece ?? null)]);
    const spans: Span[] = [];
    let [bold, italic, length] = [0, 0, 0];
    let settled: number | null = null;
    for (const piece of this.#pieces) {
      if (unsure.has(piece)) settled ??= length;
      bold += piece.bold;
      italic += piece.italic;
      length += piece.text.length;
      if (piece.text === '') continue;
      spans.push({
        text: piece.text,
        style: piece.isCode ? codeStyle : { bold: bold > 0, italic: italic > 0, code: false },
      });
    }
    return { spans, settled: settled ?? length };
  }
}
