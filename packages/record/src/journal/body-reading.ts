/** What reading a text of a journal comes to. */

/** What is known of a text. */
export type BodyReading =
  | { readonly kind: 'text'; readonly text: string }
  /** It was too long: its first and last characters. */
  | { readonly kind: 'cut'; readonly bytes: number; readonly head: string; readonly tail: string }
  /** The session kept hashes and sizes alone, or its journal was full. */
  | { readonly kind: 'not kept'; readonly bytes: number }
  /** The journal has no text of that hash, or the text there has another hash; `why` is a clause. */
  | { readonly kind: 'damaged'; readonly why: string };
