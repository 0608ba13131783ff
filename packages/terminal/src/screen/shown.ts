/** Text that may be printed: every part that others wrote has been cleaned, and the markers of untrusted text are gone. */

import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';

/** How a terminal may lay out what is shown. */
type Layout =
  /** Rows of `svc`: too long ones are continued on rows that begin with blanks. */
  | 'rows'
  /** Read by programs, or copied by people: not one character is added. */
  | 'exact'
  /** Made for the width of the terminal already. */
  | 'laid out';

/**
 * What may be printed, and nothing else may: text in which every part that others wrote has been cleaned. A command makes it with `say`,
 * `jsonLine`, a table or a view, so nobody has to remember to clean anything.
 */
export class Shown {
  // No object of another class with the same keys is one.
  readonly #text: string;
  readonly layout: Layout;

  private constructor(text: string, layout: Layout) {
    this.#text = text;
    this.layout = layout;
  }

  get text(): string {
    return this.#text;
  }

  /** Only for what cleans by itself: the renderers of diagnostics and reports, the views, the tables. */
  static cleaned(text: string, layout: Layout = 'rows'): Shown {
    return new Shown(text, layout);
  }
}

/** Nothing that is said needs a longer part of others: the rest is in a file. */
const maxPart = 8192;

/** Text of others for one row: control and invisible characters are spelt out, piled-up accents and what is too long cut. */
export function exact(text: string): string {
  const cut = shortened(text, maxPart);
  return printable(cut.replaceAll(/(\p{M}{4})\p{M}+/gu, '$1'));
}

/** A sentence of `svc`; the values in it may come from anywhere, and what `say` made stays as it is. */
export function say(sentence: TemplateStringsArray, ...values: readonly (string | number | Shown)[]): Shown {
  return Shown.cleaned(filled(sentence, values));
}

/** Several lines that repeat what was typed or thrown, such as the help of a command. */
export function sayLines(text: string): Shown {
  return Shown.cleaned(text.split('\n').map(exact).join('\n'));
}

/** The same as `say` for a line that is copied or read by a program: `svc` does not wrap it. */
export function exactLine(sentence: TemplateStringsArray, ...values: readonly (string | number | Shown)[]): Shown {
  return Shown.cleaned(filled(sentence, values), 'exact');
}

function filled(sentence: TemplateStringsArray, values: readonly (string | number | Shown)[]): string {
  return sentence
    .map((part, index) => {
      const value = index === 0 ? '' : values[index - 1];
      return (value instanceof Shown ? value.text : exact(String(value))) + part;
    })
    .join('');
}

/** A value as one line of JSON. */
export function jsonLine(value: unknown): Shown {
  return jsonText(JSON.stringify(value));
}

/** Controls, marks that turn a text around or take no room, and the tags, which are written in two halves. */
const actedOn =
  /[\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|\uDB40[\uDC00-\uDFFF]/g;

/** JSON as one line. It stays the same value: what a terminal would act on or hide is written as an escape, which stands inside strings only. */
export function jsonText(json: string): Shown {
  const escaped = json.replaceAll(actedOn, (characters) => {
    return characters
      .split('')
      .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('');
  });
  return Shown.cleaned(`${escaped}\n`, 'exact');
}

export function joined(parts: readonly Shown[]): Shown {
  const [first] = parts;
  return Shown.cleaned(parts.map(({ text }) => text).join(''), first?.layout);
}

const closing = '</untrusted-content>';
const opening = /^<untrusted-content source=[^\n>]*>\n/;

/**
 * The text between the markers that show a model what others wrote (docs/protocol.md "Frames"): they say nothing to a person. `fenceSource` is null where
 * they are missing.
 */
export function unfenced(content: string, fenceSource: string | null): string {
  const start = fenceSource === null ? null : opening.exec(content.slice(0, 1024));
  const end = content.lastIndexOf(closing);
  const after = content.slice(end + closing.length);
  if (start === null || end < start[0].length || !/^(?:\n|$)/.test(after)) return content;
  const inner = content.slice(start[0].length, end);
  return `${inner.endsWith('\n') ? inner.slice(0, -1) : inner}${after}`;
}
