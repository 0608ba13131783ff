/** Tells by its first character what a provider's answer is, whatever its content type says: proxies and small servers get that wrong. */

import { RequestFailure } from '../request-failure.ts';

const longestWhole = 16 * 1024 * 1024;

type ReplyBody =
  | { readonly kind: 'stream'; readonly pieces: Iterable<string> }
  /** JSON, of a server that does not stream or that reports an error. */
  | { readonly kind: 'whole'; readonly text: string }
  /** A page for people. */
  | { readonly kind: 'page'; readonly text: string };

/** Reads as much of the body as tells. Throws `RequestFailure` when what is not a stream passes 16 Mi characters. */
export function openBody(pieces: Iterable<string>): ReplyBody {
  const rest = pieces[Symbol.iterator]();
  let start = '';
  for (let next = rest.next(); next.done !== true; next = rest.next()) {
    start = next.value.replace(/^[\s\ufeff]+/, '');
    const [first] = start;
    if (first === undefined) continue;
    if (first === '{' || first === '[') return { kind: 'whole', text: start + restOf(rest) };
    if (first === '<') return { kind: 'page', text: start + restOf(rest) };
    break;
  }
  return { kind: 'stream', pieces: joined(start, rest) };
}

function restOf(rest: Iterator<string>): string {
  let text = '';
  for (let next = rest.next(); next.done !== true; next = rest.next()) {
    text += next.value;
    if (text.length > longestWhole)
      throw new RequestFailure('the provider sent an answer of over 16 Mi characters', { transient: false });
  }
  return text;
}

function* joined(start: string, rest: Iterator<string>): Generator<string, void, void> {
  yield start;
  for (let next = rest.next(); next.done !== true; next = rest.next()) yield next.value;
}
