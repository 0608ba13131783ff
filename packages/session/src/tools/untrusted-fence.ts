/** The markers between which a model reads what somebody else wrote, and what keeps that text from closing or opening them itself. */

/** The marker behind the text. Inside of it, none is left whole. */
export const fenceEnd = '</untrusted-content>';

const markerWord = 'untrustedcontent';
const broken = '[broken]';

const [lessThan, ampersand] = [0x3c, 0x26];
const maxAscii = 0x7f;
const allCodePoints = 0x110000;

/** What a code point is to a reader of a marker; from `firstLetter` on it reads as a letter, whose code is added. */
const [unknown, other, passedOver, slash, several, firstLetter] = [0, 1, 2, 3, 4, 5];

interface Reading {
  /** Everything beside `<` and `&lt;` that a reader may take for the opening bracket of a marker. */
  readonly openers: ReadonlySet<number>;
  /** What each code point is, once it was looked up; kept, since a text may consist of those that take long to look up. */
  readonly kinds: Uint8Array;
  /** Letters of code points that read as several. */
  readonly parts: Map<number, readonly number[]>;
  /** What may stand between the letters of a marker without a reader noticing: blanks, controls, marks, dashes. */
  readonly passedOver: RegExp;
  readonly slash: RegExp;
  /** Letters that look like the marker's, beside what compatibility decomposition already folds. */
  readonly lookAlikes: ReadonlyMap<string, string>;
}

let made: Reading | undefined;

/** Made when something is first fenced: the character classes take their time, and a start fences nothing. */
function reading(): Reading {
  // Written in ASCII, as all of the start file is: it is read byte by byte.
  made ??= {
    openers: new Set([0x226e, 0xff1c, 0xfe64, 0x2039, 0xab, 0x226a, 0x3008, 0x27e8, 0x2329, 0x2c2, 0x1438, 0x276e]),
    kinds: new Uint8Array(allCodePoints),
    parts: new Map(),
    passedOver: /^[\s\p{Z}\p{C}\p{M}\p{Default_Ignorable_Code_Point}\p{Pd}_\u{2212}\u{2d7}\u{2043}~.]$/u,
    slash: /^[/\\\u{2044}\u{2215}\u{29f8}\u{2571}\u{27cb}|]$/u,
    lookAlikes: new Map(
      Object.entries({
        u: 'υսᴜμ',
        n: 'пηνոɴռ',
        t: 'тτᴛ',
        r: 'гʀꭇᴦ',
        s: 'ѕꜱ5$ʂ',
        e: 'еεᴇ3єҽ',
        d: 'ԁᴅɗ',
        c: 'сϲᴄ',
        o: 'оοօᴏ0σ',
      }).flatMap(([letter, others]) => Array.from(others, (other): [string, string] => [other, letter])),
    ),
  };
  return made;
}

/**
 * Puts text that somebody else wrote between the markers by which the model knows it as data (docs/protocol.md "Frames").
 * Whatever in `content` could be read as a marker, also by a lenient reader, gets `[broken]` after its bracket; nothing
 * else of it changes. `source` is `tool:<name>` or `task:<origin>`.
 */
export function fenceUntrusted(source: string, content: string): string {
  const inner = breakMarkers(content);
  const lineEnd = inner === '' || inner.endsWith('\n') ? '' : '\n';
  return `<untrusted-content source=${source.replaceAll(/[^\w:.@+-]/g, '_')}>\n${inner}${lineEnd}${fenceEnd}`;
}

function breakMarkers(content: string): string {
  const known = reading();
  let result = '';
  let copied = 0;
  for (let index = 0; index < content.length;) {
    const after = endOfOpener(content, index, known);
    if (after > index && startsMarker(content, after, known)) {
      result += content.slice(copied, after) + broken;
      copied = after;
    }
    index = Math.max(index + 1, after);
  }
  return result + content.slice(copied);
}

/** Where the opening bracket at `index` ends; `index` when there is no bracket. */
function endOfOpener(content: string, index: number, { openers }: Reading): number {
  const code = content.charCodeAt(index);
  if (code === lessThan) return index + 1;
  if (code === ampersand) return endOfEntity(content, index);
  return code > maxAscii && openers.has(code) ? index + 1 : index;
}

/** `&lt`, `&#60` or `&#x3c`, with any number of zeros, in any case, with a semicolon or without. */
function endOfEntity(content: string, index: number): number {
  const isDecimal = content[index + 1] === '#';
  const isHexadecimal = isDecimal && (content[index + 2] === 'x' || content[index + 2] === 'X');
  let at = index + (isHexadecimal ? 3 : isDecimal ? 2 : 1);
  if (isDecimal) while (content[at] === '0') at += 1;
  const wanted = isHexadecimal ? '3c' : isDecimal ? '60' : 'lt';
  if (content.slice(at, at + wanted.length).toLowerCase() !== wanted) return index;
  at += wanted.length;
  return content[at] === ';' ? at + 1 : at;
}

/** Reads on from a bracket until a character is no part of a marker, so that all brackets together cost one pass. */
function startsMarker(content: string, from: number, known: Reading): boolean {
  let matched = 0;
  for (let index = from; index < content.length;) {
    const point = content.codePointAt(index) ?? 0;
    index += point > 0xffff ? 2 : 1;
    const kind = kindOf(point, known);
    if (kind === several) {
      matched = matchedWithAll(known.parts.get(point) ?? [], matched);
    } else {
      matched = matchedWith(kind, matched);
    }
    if (matched === mismatch) return false;
    if (matched >= markerWord.length) return true;
  }
  return false;
}

const mismatch = -1;

function matchedWithAll(kinds: readonly number[], before: number): number {
  let matched = before;
  for (const kind of kinds) {
    matched = matchedWith(kind, matched);
    if (matched === mismatch || matched === markerWord.length) break;
  }
  return matched;
}

/** How many letters of the marker have been read with one more character. */
function matchedWith(kind: number, matched: number): number {
  if (kind === passedOver || (kind === slash && matched === 0)) return matched;
  return kind - firstLetter === markerWord.charCodeAt(matched) ? matched + 1 : mismatch;
}

function kindOf(point: number, known: Reading): number {
  const kind = known.kinds[point] ?? other;
  return kind === unknown ? learnKind(point, known) : kind;
}

function learnKind(point: number, known: Reading): number {
  const folded = String.fromCodePoint(point).normalize('NFKD').toLowerCase();
  const parts = Array.from(folded, (part) => kindOfPart(part, known));
  const [first = passedOver] = parts;
  const kind = parts.every((part) => part === passedOver) ? passedOver : parts.length === 1 ? first : several;
  if (kind === several) known.parts.set(point, parts);
  known.kinds[point] = kind;
  return kind;
}

function kindOfPart(part: string, { passedOver: between, slash: slashes, lookAlikes }: Reading): number {
  if (between.test(part)) return passedOver;
  if (slashes.test(part)) return slash;
  const letter = lookAlikes.get(part) ?? part;
  return letter.length === 1 && markerWord.includes(letter) ? firstLetter + letter.charCodeAt(0) : other;
}
