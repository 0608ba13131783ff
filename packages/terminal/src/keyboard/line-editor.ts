/** Edits the text of an input line as keys are pressed. */

import { inert } from '../screen/inert-text.ts';
import { widthOf } from '../screen/terminal-kind.ts';
import type { Key, Letter, Press } from './key.ts';
import { type Layout, layoutOf } from './line-layout.ts';
import { LineText, type PasteToken, sizeOf, textOf, type Unit, unitsOf } from './line-text.ts';

export type Edit =
  /** The text or the place of the cursor. */
  | 'changed'
  | 'nothing'
  /** The text is to be sent; it is left as it is. */
  | 'submit'
  /** The key has no meaning in the text. The caller decides what it does. */
  | 'unknown'
  /** Nothing was inserted, as the text would have become too long. */
  | 'full';

/** UTF-8. */
const maxBytes = 1024 * 1024;
/** A longer paste is shown as a label. */
const maxLines = 10;
const maxInline = 4096;
/** Each key takes time in proportion to what is shown as text. A longer text is shown as one label, and so are further pastes. */
const maxEdited = 16 * 1024;

/**
 * The text that a person writes. It may have several lines; a long paste in it is one unit. What comes in is made harmless (`inert`)
 * first. It has no effects: the caller draws what `layout` returns.
 */
export class LineEditor {
  readonly #line = new LineText();
  #pastes = 0;
  #killed: readonly Unit[] = [];
  /** Whether the last key cut text (Ctrl+K and the like). Texts cut one after the other are pasted together. */
  #isKilling = false;
  /** The column that the cursor keeps to on its way over shorter lines. */
  #column: number | null = null;
  #top = 0;

  press(key: Key): Edit {
    switch (key.kind) {
      case 'text':
        return this.#passing(key.text.length > maxInline ? this.#insertPaste(key.text) : this.insert(key.text));
      case 'paste':
        return this.#passing(this.#insertPaste(key.text));
      case 'cursor-position':
        return 'unknown';
      case 'press':
        return this.#press(key);
    }
  }

  /** What would be sent, pastes whole. */
  get text(): string {
    return textOf(this.#line.units);
  }

  /** What stands before the cursor. */
  get textBefore(): string {
    return textOf(this.#line.units.slice(0, this.#line.cursor));
  }

  get isEmpty(): boolean {
    return this.#line.units.length === 0;
  }

  /** Puts a text in the place of this one, the cursor behind it; of one that is too long, the start. */
  set(text: string): void {
    this.#passing('changed');
    this.#pastes = 0;
    const bytes = Buffer.from(inert(text.slice(0, maxBytes)));
    // Keeps back the bytes of a character that is not whole.
    const fitting = new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true });
    const units = fitting.length > maxEdited ? [this.#tokenOf(fitting)] : unitsOf(fitting);
    this.#line.replace(0, this.#line.units.length, units);
  }

  /** Puts a text at the cursor. */
  insert(text: string): Edit {
    return this.#put(unitsOf(inert(text)));
  }

  /** Puts a text in the place of what stands between a place of the text and the cursor; `nothing` where a paste is in the way. */
  replaceFrom(start: number, text: string): Edit {
    const { cursor, units } = this.#line;
    let count = 0;
    for (let length = this.textBefore.length - start; length > 0; count += 1) {
      const unit = units[cursor - 1 - count];
      if (typeof unit !== 'string') return 'nothing';
      length -= unit.length;
    }
    return this.#put(unitsOf(inert(text)), count);
  }

  /** The rows around the cursor, at most `maxRows` of them. */
  layout(columns: number, maxRows: number): Layout {
    const { rows, cursor } = layoutOf(this.#line.units, this.#line.cursor, columns);
    const highest = Math.max(0, cursor.row - maxRows + 1);
    this.#top = Math.max(highest, Math.min(this.#top, cursor.row, Math.max(0, rows.length - maxRows)));
    return {
      rows: rows.slice(this.#top, this.#top + maxRows),
      cursor: { row: cursor.row - this.#top, column: cursor.column },
    };
  }

  #put(units: readonly Unit[], unitsBefore = 0): Edit {
    const { cursor, bytes } = this.#line;
    if (units.length === 0 && unitsBefore === 0) return 'nothing';
    if (bytes + sizeOf(units) > maxBytes) return 'full';
    this.#line.replace(Math.max(0, cursor - unitsBefore), cursor, units);
    return 'changed';
  }

  #insertPaste(text: string): Edit {
    if (this.isEmpty) this.#pastes = 0;
    const cleaned = inert(text);
    const isShort = linesOf(cleaned) <= maxLines && cleaned.length <= maxInline;
    if (isShort && this.#line.units.length + cleaned.length <= maxEdited) {
      return this.insert(cleaned.replaceAll('\t', '    '));
    }
    const edit = this.#put([this.#tokenOf(cleaned)]);
    if (edit === 'full') this.#pastes -= 1;
    return edit;
  }

  #tokenOf(text: string): PasteToken {
    this.#pastes += 1;
    const lines = linesOf(text);
    return { label: `[paste ${this.#pastes}: ${lines > 1 ? `${lines} lines` : `${text.length} characters`}]`, text };
  }

  #press(key: Press): Edit {
    const { name } = key;
    if (name === 'up' || name === 'down') return this.#toLine(name === 'up' ? -1 : 1);
    if (key.ctrl && !key.alt && (name === 'p' || name === 'n')) return this.#toLine(name === 'p' ? -1 : 1);
    const kill = this.#killOf(key);
    if (kill !== null) return this.#kill(kill);
    return this.#passing(this.#edit(key));
  }

  /** What follows a kill or a move to another line is no longer a part of it. */
  #passing(edit: Edit): Edit {
    this.#isKilling = false;
    this.#column = null;
    return edit;
  }

  #edit(key: Press): Edit {
    const { name } = key;
    const { cursor } = this.#line;
    if (name === 'enter') return this.#enter(key);
    const place = this.#placeOf(key);
    if (place !== null) return this.#moveTo(place);
    if (name === 'backspace' || isCtrl(key, 'h')) return this.#delete(cursor - 1, cursor);
    if (name === 'delete') return this.#delete(cursor, cursor + 1);
    if (isCtrl(key, 'd')) return this.isEmpty ? 'unknown' : this.#delete(cursor, cursor + 1);
    if (isCtrl(key, 'j')) return this.#put(['\n']);
    if (isCtrl(key, 'y')) return this.#put(this.#killed);
    return 'unknown';
  }

  #enter(key: Press): Edit {
    if (key.alt || key.shift) return this.#put(['\n']);
    const isContinued = this.#line.units[this.#line.cursor - 1] === '\\';
    return isContinued ? this.#put(['\n'], 1) : 'submit';
  }

  /** Where a key moves the cursor to; null when it does something else. */
  #placeOf(key: Press): number | null {
    const { name, ctrl, alt } = key;
    const { cursor, units } = this.#line;
    if (name === 'left' || name === 'right') {
      const isBack = name === 'left';
      if (ctrl || alt) return isBack ? this.#wordBefore(isInWord) : this.#wordAfter();
      return cursor + (isBack ? -1 : 1);
    }
    if (name === 'home') return ctrl ? 0 : this.#lineStart(cursor);
    if (name === 'end') return ctrl ? units.length : this.#lineEnd(cursor);
    if (alt && !ctrl) return name === 'b' ? this.#wordBefore(isInWord) : name === 'f' ? this.#wordAfter() : null;
    if (!ctrl || alt) return null;
    switch (name) {
      case 'a':
        return this.#lineStart(cursor);
      case 'e':
        return this.#lineEnd(cursor);
      case 'b':
        return cursor - 1;
      case 'f':
        return cursor + 1;
      default:
        return null;
    }
  }

  /** The other end of what a key takes away to be put back with Ctrl+Y; null when it does something else. */
  #killOf(key: Press): number | null {
    const { name, ctrl, alt } = key;
    const { cursor } = this.#line;
    if (name === 'backspace') return ctrl || alt ? this.#wordBefore(isInWord) : null;
    if (name === 'delete') return ctrl || alt ? this.#wordAfter() : null;
    if (alt && !ctrl && name === 'd') return this.#wordAfter();
    if (isCtrl(key, 'w')) return this.#wordBefore(isNoBlank);
    // At the end of a line, that end itself.
    if (isCtrl(key, 'u')) return Math.min(this.#lineStart(cursor), Math.max(0, cursor - 1));
    return isCtrl(key, 'k') ? Math.max(this.#lineEnd(cursor), cursor + 1) : null;
  }

  #kill(end: number): Edit {
    const { cursor } = this.#line;
    const isBack = end < cursor;
    const removed = this.#line.replace(Math.min(end, cursor), Math.max(end, cursor), []);
    const earlier = this.#isKilling ? this.#killed : [];
    this.#column = null;
    if (removed.length === 0) return 'nothing';
    this.#isKilling = true;
    this.#killed = isBack ? removed.concat(earlier) : earlier.concat(removed);
    return 'changed';
  }

  #delete(from: number, to: number): Edit {
    if (from < 0 || to > this.#line.units.length) return 'nothing';
    this.#line.replace(from, to, []);
    return 'changed';
  }

  #moveTo(place: number): Edit {
    const { cursor } = this.#line;
    this.#line.moveTo(place);
    return this.#line.cursor === cursor ? 'nothing' : 'changed';
  }

  #lineStart(place: number): number {
    return place === 0 ? 0 : this.#line.units.lastIndexOf('\n', place - 1) + 1;
  }

  #lineEnd(place: number): number {
    const end = this.#line.units.indexOf('\n', place);
    return end === -1 ? this.#line.units.length : end;
  }

  #toLine(direction: -1 | 1): Edit {
    this.#isKilling = false;
    const { cursor, units } = this.#line;
    const [start, end] = [this.#lineStart(cursor), this.#lineEnd(cursor)];
    const goal = (this.#column ??= this.#cellsBetween(start, cursor));
    if (direction === -1 ? start === 0 : end === units.length) {
      this.#column = null;
      return 'unknown';
    }
    let place = direction === -1 ? this.#lineStart(start - 1) : end + 1;
    const last = this.#lineEnd(place);
    for (let cells = 0; place < last; place += 1) {
      cells += this.#cellsBetween(place, place + 1);
      if (cells > goal) break;
    }
    this.#line.moveTo(place);
    return 'changed';
  }

  #cellsBetween(from: number, to: number): number {
    const shown = this.#line.units.slice(from, to).map((unit) => (typeof unit === 'string' ? unit : unit.label));
    return widthOf(shown.join('').replaceAll('\t', '    '));
  }

  #wordBefore(isPart: (unit: Unit) => boolean): number {
    const { units } = this.#line;
    let place = this.#line.cursor;
    while (place > 0 && !isPart(units[place - 1] ?? '')) place -= 1;
    while (place > 0 && isPart(units[place - 1] ?? '')) place -= 1;
    return place;
  }

  #wordAfter(): number {
    const { units } = this.#line;
    let place = this.#line.cursor;
    while (place < units.length && !isInWord(units[place] ?? '')) place += 1;
    while (place < units.length && isInWord(units[place] ?? '')) place += 1;
    return place;
  }
}

function linesOf(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

function isCtrl(key: Press, letter: Letter): boolean {
  return key.name === letter && key.ctrl && !key.alt;
}

/** A paste is a word. */
function isInWord(unit: Unit): boolean {
  return typeof unit !== 'string' || /^[\p{L}\p{N}\p{M}_]/u.test(unit);
}

function isNoBlank(unit: Unit): boolean {
  return typeof unit !== 'string' || !/^\s/.test(unit);
}
