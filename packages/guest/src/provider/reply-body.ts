/** Tells by its first character what a provider's answer is, whatever its content type says: proxies and small servers get that wrong. */

import { RequestFailure } from '../request-failure.ts';
import type { Steps } from './steps.ts';

const maxWhole = 16 * 1024 * 1024;

/** Gives the next piece of a body; null at its end. */
export type ReadPiece = () => Steps<string | null>;

type ReplyBody =
  /** The first piece of it that tells. */
  | { readonly kind: 'stream'; readonly start: string }
  /** JSON, of a server that does not stream or that reports an error. */
  | { readonly kind: 'whole'; readonly text: string }
  /** A page for people. */
  | { readonly kind: 'page'; readonly text: string };

/** Reads as much of the body as tells. Throws `RequestFailure` when what is not a stream passes 16 Mi characters. */
export function* openBody(read: ReadPiece): Steps<ReplyBody> {
  for (let piece = yield* read(); piece !== null; piece = yield* read()) {
    const start = piece.replace(/^[\s\ufeff]+/, '');
    const [first] = start;
    if (first === undefined) continue;
    if (first === '{' || first === '[') return { kind: 'whole', text: yield* wholeOf(start, read) };
    if (first === '<') return { kind: 'page', text: yield* wholeOf(start, read) };
    return { kind: 'stream', start };
  }
  return { kind: 'stream', start: '' };
}

function* wholeOf(start: string, read: ReadPiece): Steps<string> {
  let text = start;
  for (let piece = yield* read(); piece !== null; piece = yield* read()) {
    text += piece;
    if (text.length > maxWhole)
      throw new RequestFailure('the provider sent an answer of over 16 Mi characters', { transient: false });
  }
  return text;
}
