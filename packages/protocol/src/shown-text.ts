/** Texts as far as a page shows them. */

/** A text, or why there is none. */
export type ShownText =
  | { readonly kind: 'text'; readonly text: string; /** Characters that follow. */ readonly more: number }
  | { readonly kind: 'none'; readonly why: string };

/** In characters. */
export const mostShown: number = 1024 * 1024;

export function shownText(text: string): ShownText {
  return { kind: 'text', text: text.slice(0, mostShown), more: Math.max(0, text.length - mostShown) };
}
