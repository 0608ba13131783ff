/** Colours rows of Markdown without hiding or moving a character of them. */

import type { Colors } from 'picocolors/types.js';

/** Headings and `**bold**` are bold, code is cyan. Rows come in their order, each with its gutter. */
export class MarkdownColours {
  readonly #color: Pick<Colors, 'bold' | 'cyan'>;
  readonly #gutter: string;
  #isFenced = false;

  constructor(color: Pick<Colors, 'bold' | 'cyan'>, gutter: string) {
    this.#color = color;
    this.#gutter = gutter;
  }

  /** The next row. */
  whole(row: string): string {
    const shown = this.open(row);
    if (fence.test(this.#textOf(row))) this.#isFenced = !this.#isFenced;
    return shown;
  }

  /** The same for a row that may still grow. */
  open(row: string): string {
    const text = this.#textOf(row);
    const { bold, cyan } = this.#color;
    if (this.#isFenced || fence.test(text)) return this.#gutter + cyan(text);
    if (heading.test(text)) return this.#gutter + bold(text);
    return this.#gutter + text.replaceAll(strong, bold).replaceAll(code, cyan);
  }

  /** Another text begins. */
  end(): void {
    this.#isFenced = false;
  }

  #textOf(row: string): string {
    return row.slice(this.#gutter.length);
  }
}

const fence = /^\s{0,3}(?:```|~~~)/;
const heading = /^#{1,6} /;
const strong = /\*\*[^*\s](?:[^*]*[^*\s])?\*\*/g;
const code = /`[^`]+`/g;
