/** Takes peer handles out of texts that are kept or shown. */

import type { Redactor } from './redactor.ts';
import { sha256Hex } from '../sha256.ts';

/** What stands for a peer handle in traces and errors: the first 16 hex characters of its hash (D3 "Peer handle"). */
export function handleId(handle: string): string {
  return sha256Hex(handle).slice(0, 16);
}

/** Each of them is hashed, and a client may send a hundred thousand in one message. */
const maxTold = 1000;
/** In all; no request for a file holds a longer handle than 16 KiB. */
const maxToldLength = 256 * 1024;

/**
 * The text with every peer handle in it replaced by `<handle:<handle_id>>`, also one that is escaped as in a URL, and whatever stands
 * before it: where handles overlap, the text names all of them and keeps none of their characters (D3 "Events"). Where one text holds more than
 * 1,000 of them, or 256 KiB, the rest are `<handle>`, with what is joined to them by dots and letters.
 */
export function redactHandles(text: string): string {
  // Nearly every line of a trace ends here.
  if (!text.includes('mh1') && !text.includes('%')) return text;
  let redacted = '';
  let shownTo = 0;
  let told = 0;
  let toldLength = 0;
  for (const { start, end } of findHandles(text)) {
    redacted += text.slice(shownTo, start);
    told += 1;
    toldLength += end - start;
    if (told > maxTold || toldLength > maxToldLength) {
      return redacted + hideHandles(text, Math.max(shownTo, start), '<handle>');
    }
    redacted += `<handle:${handleId(unescaped(text.slice(start, end)))}>`;
    shownTo = end;
  }
  return redacted + text.slice(shownTo);
}

/** Makes a text fit to be kept beside a session, or shown as an error: it then holds no secret and no peer handle (D3 "Events"). */
export function recordRedaction(redactor: Redactor): (text: string) => string {
  return (text) => redactor.redact(redactHandles(text));
}

function unescaped(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** Where a text holds what reads as a peer handle. */
interface FoundHandle {
  readonly start: number;
  readonly end: number;
}

/** How handles are spelt, as parts of regular expressions. */
interface Spelling {
  /** `mh1`, a dot and a payload, up to the dot before the beginning of a MAC. */
  readonly beginning: string;
  readonly letter: string;
  readonly dot: string;
}

/**
 * The least that a payload with all its five keys encodes to is 51 characters (D3 "Peer handle"), and `e` is how `{` begins there: what
 * cannot be a handle is passed over before anything is hashed. One with the longest path there is has 32 KiB. Without a bound, a text of
 * some megabytes would overflow the stack of the expression.
 */
const anyLength = '{50,65535}';

const letter = '[A-Za-z0-9_-]';
const plain: Spelling = { letter, dot: '\\.', beginning: `mh1\\.e${letter}${anyLength}(?=\\.${letter})` };

/** An escaped dot ends a part as a dot does. */
const anyLetter = '(?:[A-Za-z0-9_-]|%(?!2[eE])[0-9A-Fa-f]{2})';
const anyDot = '(?:\\.|%2[eE])';
/** Every character may be escaped as in a URL. */
const escaped: Spelling = {
  letter: anyLetter,
  dot: anyDot,
  beginning: `(?:m|%6[dD])(?:h|%68)(?:1|%31)${anyDot}(?:e|%65)${anyLetter}${anyLength}(?=${anyDot}${anyLetter})`,
};

const maxPrefix = '%6d%68%31'.length;

function spellingOf(text: string): Spelling {
  return text.includes('%') ? escaped : plain;
}

/**
 * Every handle in a text, in the order of their beginnings and of their ends: they overlap where one reads as the beginning of another, and
 * none hides the next. A payload ends at the next dot, so that no part of the text is read more than three times, and all that is no handle
 * is passed over within one expression.
 */
export function* findHandles(text: string): Generator<FoundHandle> {
  const spelling = spellingOf(text);
  const beginning = new RegExp(spelling.beginning, 'g');
  // What follows a MAC's 43 characters is not part of it.
  const mac = new RegExp(`${spelling.dot}${spelling.letter}{1,43}`, 'y');
  for (let match = beginning.exec(text); match !== null; match = beginning.exec(text)) {
    const payloadEnd = beginning.lastIndex;
    mac.lastIndex = payloadEnd;
    mac.test(text);
    yield { start: match.index, end: mac.lastIndex };
    // The payload may end with what begins the next handle.
    beginning.lastIndex = payloadEnd - maxPrefix;
  }
}

/** Matches what cannot be part of a handle, escaped or not: no handle reaches beyond it. */
const foreign = /[^A-Za-z0-9_.%-]|%(?![0-9A-Fa-f]{2})/g;

/** The text from `from`, which is within a handle, with `mark` for each run of letters and dots that holds one. */
function hideHandles(text: string, from: number, mark: string): string {
  const beginning = new RegExp(spellingOf(text).beginning, 'g');
  let hidden = '';
  let begin = from;
  for (;;) {
    foreign.lastIndex = begin;
    const end = foreign.exec(text)?.index ?? text.length;
    hidden += mark;
    beginning.lastIndex = end;
    const next = beginning.exec(text);
    hidden += text.slice(end, next?.index);
    if (next === null) return hidden;
    begin = beginning.lastIndex;
  }
}
