/** Keeps text whole: what a program cuts or a model writes may hold half a character, which a component cannot hand to its host. */

const replacement = '\ufffd';

/**
 * `text` without halves of surrogate pairs, each replaced by U+FFFD. They come out of JSON escapes and of text cut in two, have no
 * UTF-8 form, and end a guest that hands one to its host.
 */
export function wellFormed(text: string): string {
  return /\p{Cs}/u.test(text) ? text.replace(/\p{Cs}/gu, replacement) : text;
}

/** The same value with every text in it well-formed. */
export function withWellFormedText<T>(value: T): T {
  if (typeof value === 'string') return wellFormed(value) as T & string;
  if (Array.isArray(value)) return value.map((item: unknown) => withWellFormedText(item)) as T & unknown[];
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withWellFormedText<unknown>(item)])) as T &
    object;
}

/** Keeps back half a surrogate pair at the end of a piece until the next piece brings the other half. */
export class PairKeeper {
  #half = '';

  /** What can be shown of the text so far; may be empty. */
  push(piece: string): string {
    const text = this.#half + piece;
    const last = text.charCodeAt(text.length - 1);
    this.#half = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : '';
    return wellFormed(text.slice(0, text.length - this.#half.length));
  }
}
