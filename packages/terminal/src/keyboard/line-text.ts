/** Holds the text of an input line in the units that a person sees: characters with all their marks, and pastes that are shown by their size. */

/** A long paste: shown as a label, moved over and deleted as one, and sent whole. */
export interface PasteToken {
  readonly label: string;
  readonly text: string;
}

/** What the cursor moves over and what is deleted at once. */
export type Unit = string | PasteToken;

export function textOf(units: readonly Unit[]): string {
  return units.map((unit) => (typeof unit === 'string' ? unit : unit.text)).join('');
}

/** In bytes of UTF-8. */
export function sizeOf(units: readonly Unit[]): number {
  return Buffer.byteLength(textOf(units));
}

const beyondAscii = /[\u0080-\uFFFF]/;
let segmenter: Intl.Segmenter | null = null;

/** The time that segmenting takes grows with the square of what is segmented at once. */
const segmentedAtOnce = 256;

/** A text in units. */
export function unitsOf(text: string): Unit[] {
  if (!beyondAscii.test(text)) return text.split('');
  const units: Unit[] = [];
  for (let at = 0; at < text.length;) {
    const isLast = at + segmentedAtOnce >= text.length;
    const characters = charactersOf(text.slice(at, at + segmentedAtOnce));
    // The last one may go on behind what was looked at.
    if (!isLast && characters.length > 1) characters.pop();
    for (const character of characters) {
      units.push(character);
      at += character.length;
    }
  }
  return units;
}

function charactersOf(text: string): string[] {
  if (!beyondAscii.test(text)) return text.split('');
  // Made when first needed: the tables behind it are large.
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/**
 * Units in their order, and a place between two of them, from 0 on. What is inserted and what it touches are put together again: an accent
 * belongs to the letter before it.
 */
export class LineText {
  #units: Unit[] = [];
  #cursor = 0;
  #bytes = 0;

  get units(): readonly Unit[] {
    return this.#units;
  }

  get cursor(): number {
    return this.#cursor;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes the place as near as there is one. */
  moveTo(place: number): void {
    this.#cursor = Math.max(0, Math.min(place, this.#units.length));
  }

  /** Puts units in the place of those from `from` to `to`, the cursor behind them. Returns what was there. */
  replace(from: number, to: number, units: readonly Unit[]): readonly Unit[] {
    const removed = this.#units.slice(from, to);
    this.#bytes += sizeOf(units) - sizeOf(removed);
    const [before, after] = [this.#units[from - 1], this.#units[to]];
    if (touches(before, units[0] ?? after) || touches(units.at(-1), after)) this.#weld(from, to, units);
    else {
      this.#units = spliced(this.#units, from, to, units);
      this.#cursor = from + units.length;
    }
    return removed;
  }

  #weld(from: number, to: number, units: readonly Unit[]): void {
    const start = typeof this.#units[from - 1] === 'string' ? from - 1 : from;
    const end = typeof this.#units[to] === 'string' ? to + 1 : to;
    const before = this.#units.slice(start, from);
    const whole = segmented([...before, ...units, ...this.#units.slice(to, end)]);
    // Behind the inserted text, or behind the character that its end has become a part of.
    const wanted = textOf(before).length + textOf(units).length;
    let length = 0;
    let cursor = start;
    for (const unit of whole) {
      if (length >= wanted) break;
      length += textOf([unit]).length;
      cursor += 1;
    }
    this.#units = spliced(this.#units, start, end, whole);
    this.#cursor = cursor;
  }
}

/** Whether two neighbours may be one character together. */
function touches(first: Unit | undefined, second: Unit | undefined): boolean {
  return typeof first === 'string' && typeof second === 'string' && first !== '\n' && beyondAscii.test(second);
}

function segmented(units: readonly Unit[]): Unit[] {
  const whole: Unit[] = [];
  let text = '';
  for (const unit of units) {
    if (typeof unit === 'string') text += unit;
    else {
      for (const character of unitsOf(text)) whole.push(character);
      whole.push(unit);
      text = '';
    }
  }
  for (const character of unitsOf(text)) whole.push(character);
  return whole;
}

/** Splices by copying: the list may be longer than a call can have arguments. */
function spliced(list: readonly Unit[], from: number, to: number, units: readonly Unit[]): Unit[] {
  return list.slice(0, from).concat(units, list.slice(to));
}
