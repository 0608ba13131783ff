/** Remembers what was typed, in this chat and in those before it. */

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { eachOnce, HistoryFile, maxEntries } from './history-file.ts';

interface HistoryOptions {
  /** False with `--no-history`: nothing is read or written, and what was typed is forgotten with the chat. */
  readonly isKept: boolean;
}

/** A longer text is remembered until the chat ends, and not kept. */
const maxKept = 64 * 1024;
/** In characters, of all that is remembered. */
const maxRemembered = 16 * 1024 * 1024;

/** Texts in the order in which they were typed, each once, at the place of its last use; and a place among them. */
export class History {
  #file: HistoryFile | null;
  #texts: string[];
  #place: number;
  /** What was being written when the first older text was asked for. */
  #draft = '';

  private constructor(file: HistoryFile | null, texts: string[]) {
    this.#file = file;
    this.#texts = texts;
    this.#place = texts.length;
  }

  /** With what `.svc/history` below the home has. The warning says what could not be read of it. */
  static open(home: string, { isKept }: HistoryOptions): { history: History; warning: Diagnostic | null } {
    if (!isKept) return { history: new History(null, []), warning: null };
    const file = new HistoryFile(home);
    const { texts, warning } = file.read();
    return { history: new History(file, eachOnce(texts).slice(-maxEntries)), warning };
  }

  /**
   * Remembers a text, unless it begins with a blank, and keeps it in the file. Returns a warning when that fails for the first time; nothing more is
   * kept then.
   */
  add(text: string): Diagnostic | null {
    this.restart();
    if (text === '' || /^\s/.test(text)) return null;
    const isRepeated = this.#texts.at(-1) === text;
    this.#texts = eachOnce([...this.#texts, text]).slice(-maxEntries);
    for (let length = this.#length(); length > maxRemembered; length = this.#length()) this.#texts.shift();
    this.restart();
    if (isRepeated || text.length > maxKept) return null;
    const warning = this.#file?.add(text) ?? null;
    if (warning !== null) this.#file = null;
    return warning;
  }

  #length(): number {
    return this.#texts.reduce((sum, text) => sum + text.length, 0);
  }

  /** Goes back behind the newest text. */
  restart(): void {
    this.#place = this.#texts.length;
    this.#draft = '';
  }

  /** The text before the last one that was asked for; null at the first. `current` is what comes behind the newest. */
  previous(current: string): string | null {
    if (this.#place === 0) return null;
    if (this.#place === this.#texts.length) this.#draft = current;
    this.#place -= 1;
    return this.#texts[this.#place] ?? null;
  }

  /** The text behind the last one that was asked for, at the end what was being written; null when that is it. */
  next(): string | null {
    if (this.#place === this.#texts.length) return null;
    this.#place += 1;
    return this.#texts[this.#place] ?? this.#draft;
  }

  /** The newest text that has the needle in it, of those before a place. */
  search(needle: string, before: number = this.#texts.length): { text: string; index: number } | null {
    if (needle === '') return null;
    for (let index = Math.min(before, this.#texts.length) - 1; index >= 0; index -= 1) {
      const text = this.#texts[index] ?? '';
      if (text.includes(needle)) return { text, index };
    }
    return null;
  }
}
