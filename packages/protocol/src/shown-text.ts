/** Texts of a trace as a page shows them, and as it is searched for words. */

/** A text, or why it is missing. */
export type ShownText =
  | { readonly kind: 'text'; readonly text: string; /** Characters that follow. */ readonly more: number }
  | { readonly kind: 'none'; readonly why: string };

/** In characters. */
export const maxShown: number = 1024 * 1024;

export function shownText(text: string): ShownText {
  return { kind: 'text', text: text.slice(0, maxShown), more: Math.max(0, text.length - maxShown) };
}

/** Whether a text of a value, in small letters, holds `words`: keys are no texts, nor is what lies deeper than anybody nests. */
export function holdsText(value: unknown, words: string, levels: number = 60): boolean {
  if (typeof value === 'string') return value.toLowerCase().includes(words);
  if (typeof value !== 'object' || value === null || levels === 0) return false;
  return Object.values(value).some((each) => holdsText(each, words, levels - 1));
}
