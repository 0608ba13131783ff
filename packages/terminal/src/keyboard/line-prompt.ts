/** The line that a person writes into: its text, the history of earlier lines, a search in the history, and completions. */

import { inert, inertLine } from '../screen/inert-text.ts';
import { cutToWidth, widthOf } from '../screen/terminal-kind.ts';
import type { History } from './history.ts';
import type { Key, Press } from './key.ts';
import { type Edit, LineEditor } from './line-editor.ts';
import type { Layout } from './line-layout.ts';
import { textOf, unitsOf } from './line-text.ts';

/** The texts that could be completed at the cursor. */
export interface Completion {
  /** A candidate replaces the text from here to the cursor. */
  readonly start: number;
  /** Each is whole, with the blank behind it if it needs one. */
  readonly candidates: readonly string[];
}

export type PromptEdit =
  | Edit
  /**
   * First the line gets what all candidates begin with. Then it resolves: to the candidates when there are several, and the caller shows them; to an
   * empty list when nothing fits, or when another key was pressed meanwhile.
   */
  | { readonly kind: 'completion'; readonly candidates: Promise<readonly string[]> };

interface LinePromptOptions {
  readonly history: History | null;
  complete(text: string, cursor: number): Promise<Completion>;
}

interface Search {
  needle: string;
  found: { readonly text: string; readonly index: number } | null;
}

const maxNeedle = 200;
export const searchLabel = 'search: ';

/** Its only effects are those of its history and of `complete`. `submit` leaves the text; the caller that sent it calls `set('')`. */
export class LinePrompt {
  readonly #options: LinePromptOptions;
  readonly #editor = new LineEditor();
  #search: Search | null = null;
  /** Shows whether a completion comes too late. */
  #presses = 0;

  constructor(options: LinePromptOptions) {
    this.#options = options;
  }

  get text(): string {
    return this.#editor.text;
  }

  get isEmpty(): boolean {
    return this.#editor.isEmpty;
  }

  get isSearching(): boolean {
    return this.#search !== null;
  }

  set(text: string): void {
    this.#presses += 1;
    this.#search = null;
    this.#editor.set(text);
    this.#options.history?.restart();
  }

  press(key: Key): PromptEdit {
    if (key.kind === 'cursor-position') return 'unknown';
    this.#presses += 1;
    if (this.#search !== null) return this.#pressInSearch(this.#search, key);
    const edit = this.#editor.press(key);
    return edit === 'unknown' && key.kind === 'press' ? this.#pressBeyond(key) : edit;
  }

  /** While a search goes on, one row that begins with `search: `. */
  layout(columns: number, maxRows: number): Layout {
    if (this.#search === null) return this.#editor.layout(columns, maxRows);
    const { needle, found } = this.#search;
    const start = cutToWidth(searchLabel + needle, columns - 1);
    const isWhole = needle !== '' && start === searchLabel + needle;
    const match = !isWhole ? '' : found === null ? '  (nothing)' : `  ${inertLine(found.text, columns)}`;
    return { rows: [cutToWidth(start + match, columns)], cursor: { row: 0, column: widthOf(start) } };
  }

  /** Keys that mean nothing in the text. */
  #pressBeyond(key: Press): PromptEdit {
    const { history } = this.#options;
    if (isPlain(key, 'tab')) return this.#complete();
    if (history === null) return 'unknown';
    if (isPlain(key, 'up') || isCtrl(key, 'p')) return this.#recall(history.previous(this.#editor.text));
    if (isPlain(key, 'down') || isCtrl(key, 'n')) return this.#recall(history.next());
    if (!isCtrl(key, 'r')) return 'unknown';
    this.#search = { needle: '', found: null };
    return 'changed';
  }

  #recall(text: string | null): Edit {
    if (text === null) return 'nothing';
    this.#editor.set(text);
    return 'changed';
  }

  #pressInSearch(search: Search, key: Exclude<Key, { kind: 'cursor-position' }>): PromptEdit {
    if (key.kind !== 'press') {
      const needle = search.needle + inert(key.text).replaceAll(/\s+/g, ' ');
      search.needle = Array.from(needle).slice(0, maxNeedle).join('');
      return this.#find(search);
    }
    if (isPlain(key, 'backspace') || isCtrl(key, 'h')) {
      search.needle = textOf(unitsOf(search.needle).slice(0, -1));
      return this.#find(search);
    }
    if (isCtrl(key, 'r')) return this.#findOlder(search);
    this.#search = null;
    if (isPlain(key, 'escape') || isCtrl(key, 'g') || isCtrl(key, 'c')) return 'changed';
    if (search.found !== null) this.#editor.set(search.found.text);
    // What was found is looked at once more before it is sent.
    if (isPlain(key, 'enter')) return 'changed';
    const edit = this.press(key);
    return edit === 'nothing' ? 'changed' : edit;
  }

  #find(search: Search): Edit {
    search.found = this.#options.history?.search(search.needle) ?? null;
    return 'changed';
  }

  /** At the oldest it stays. */
  #findOlder(search: Search): Edit {
    const older = search.found && this.#options.history?.search(search.needle, search.found.index);
    if (!older) return 'nothing';
    search.found = older;
    return 'changed';
  }

  #complete(): PromptEdit {
    const before = this.#editor.textBefore;
    const presses = this.#presses;
    const candidates = this.#options.complete(this.#editor.text, before.length).then((completion) => {
      if (presses !== this.#presses || completion.candidates.length === 0) return [];
      this.#editor.replaceFrom(completion.start, commonStart(completion.candidates));
      return completion.candidates.length > 1 ? completion.candidates : [];
    });
    return { kind: 'completion', candidates };
  }
}

/** Cuts no character that is drawn as one. */
function commonStart(texts: readonly string[]): string {
  const [first = [], ...others] = texts.map((text) => unitsOf(text));
  const different = first.findIndex((unit, place) => others.some((other) => other[place] !== unit));
  return textOf(different === -1 ? first : first.slice(0, different));
}

function isPlain({ name, ctrl, alt, shift }: Press, wanted: Press['name']): boolean {
  return name === wanted && !ctrl && !alt && !shift;
}

function isCtrl({ name, ctrl, alt }: Press, wanted: Press['name']): boolean {
  return name === wanted && ctrl && !alt;
}
