/** Keeps the digits of JSON numbers that a number of JavaScript cannot hold, beside the value that holds the rest. */

/** Numbers as they were written, by the JSON pointer of their place. */
export type Digits = Readonly<Record<string, string>>;

interface ExactJson {
  /** Each such number is the nearest one here, and null where none is near. */
  readonly value: unknown;
  readonly digits: Digits;
}

/** Most texts hold no number of 16 digits or with an exponent, and are not looked at any further. */
const mayLose = /\d(?:\.?\d){15}|\d[eE]/;
const numberShape = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const tokens = /[^\s,:[\]{}"]+/y;

/** The digits of `text`, which is JSON; null where a number of JavaScript holds each of its numbers. */
export function exactJson(text: string): ExactJson | null {
  if (!mayLose.test(text)) return null;
  const mark = markOutside(text);
  const lossless = markedNumbers(text, mark);
  if (lossless === null) return null;
  const digits: Record<string, string> = {};
  const value = unmarked(JSON.parse(lossless), '', { digits, mark });
  return { value, digits };
}

/** JSON of a value with these digits, where they still stand for what is there; in lines that begin with more `spaces` for each level. */
export function withDigits(value: unknown, digits: Digits | undefined, spaces = 0): string {
  const plain = JSON.stringify(value, null, spaces);
  if (digits === undefined || value === undefined) return plain;
  const mark = markOutside(plain);
  const [first = '', ...rest] = JSON.stringify(marked(value, '', { digits, mark }), null, spaces).split(
    `"${spelt(mark)}`,
  );
  // Behind a mark stand the number and the end of its text.
  return first + rest.map((part) => part.replace('"', '')).join('');
}

/** Stands before a number that is read as text: more null characters than stand in a row in JSON, where each has one spelling. */
function markOutside(json: string): string {
  let mark = '\u0000';
  while (json.includes(spelt(mark))) mark += mark;
  return `${mark}#`;
}

function spelt(mark: string): string {
  return mark.replaceAll('\u0000', '\\u0000');
}

/** The first of the digits that stand for no number of JavaScript at all. */
export function beyondNumbers(digits: Digits): { readonly pointer: string; readonly text: string } | null {
  for (const [pointer, text] of Object.entries(digits)) if (!Number.isFinite(Number(text))) return { pointer, text };
  return null;
}

/** Digits below a place, as they are from there. */
export function digitsBelow(digits: Digits, pointer: string): Digits | undefined {
  const below = Object.entries(digits).filter(([each]) => each.startsWith(`${pointer}/`));
  if (below.length === 0) return undefined;
  return Object.fromEntries(below.map(([each, text]) => [each.slice(pointer.length), text]));
}

/** The text with its numbers that would lose digits as texts; null where it has none. */
function markedNumbers(text: string, mark: string): string | null {
  const parts: string[] = [];
  let from = 0;
  let index = 0;
  while (index < text.length) {
    if (text[index] === '"') {
      index = endOfString(text, index);
      continue;
    }
    tokens.lastIndex = index;
    const [token] = tokens.exec(text) ?? [];
    if (token === undefined) index += 1;
    else {
      if (loses(token)) {
        parts.push(`${text.slice(from, index)}"${spelt(mark)}${token}"`);
        from = index + token.length;
      }
      index += token.length;
    }
  }
  return parts.length === 0 ? null : parts.join('') + text.slice(from);
}

function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index + 1;
}

function loses(token: string): boolean {
  return numberShape.test(token) && plain(String(Number(token))) !== plain(token);
}

/** One spelling for all of one number. */
function plain(token: string): string | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberShape.exec(token) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (whole === '') return null;
  const short = digits.slice(0, digits.length - zerosAtEnd(digits));
  return short === '' ? '0' : `${sign}${short}e${Number(exponent) - fraction.length + digits.length - short.length}`;
}

/** An expression for this takes the square of their number where another digit stands behind them. */
function zerosAtEnd(digits: string): number {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return digits.length - end;
}

interface Marking<Found extends Digits> {
  readonly digits: Found;
  readonly mark: string;
}

function unmarked(value: unknown, pointer: string, marking: Marking<Record<string, string>>): unknown {
  const { digits, mark } = marking;
  if (typeof value === 'string' && value.startsWith(mark)) {
    const text = value.slice(mark.length);
    digits[pointer] = text;
    return Number.isFinite(Number(text)) ? Number(text) : null;
  }
  return mapped(value, pointer, (each, place) => unmarked(each, place, marking));
}

/** The value with the digits in their places, unless something else is there by now. */
function marked(value: unknown, pointer: string, marking: Marking<Digits>): unknown {
  const { digits, mark } = marking;
  if (typeof value === 'number' || value === null) {
    const text = Object.hasOwn(digits, pointer) ? (digits[pointer] ?? '') : '';
    const number = Number.isFinite(Number(text)) ? Number(text) : null;
    return numberShape.test(text) && number === value ? `${mark}${text}` : value;
  }
  return mapped(value, pointer, (each, place) => marked(each, place, marking));
}

/** An object or a list with other values; anything else as it is. */
function mapped(value: unknown, pointer: string, change: (each: unknown, pointer: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((each, index) => change(each, `${pointer}/${index}`));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, each]): [string, unknown] => [
    key,
    change(each, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  ]);
  return Object.fromEntries(entries);
}
