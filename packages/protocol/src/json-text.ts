/** Parses JSON of an untrusted side, after a look at how deep and how large its value would be. */

/** Deeper values than this are refused: what walks them later, walks them by recursion. */
const maxDepth = 500;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

export type JsonText =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'not-json' }
  /** Not looked at further, so perhaps not JSON either. */
  | { readonly kind: 'too-deep' | 'too-many' };

/** Text of an untrusted side as a JSON value, which holds at most `maxValues` values and nests no deeper than `deepest`. */
export function parseJsonText(
  text: string,
  maxValues: number = Number.POSITIVE_INFINITY,
  deepest: number = maxDepth,
): JsonText {
  // Before it is parsed: the parser takes seconds for a few megabytes of brackets, and fifty times their size for as many empty objects.
  const verdict = new JsonShape(maxValues, null, deepest).add(text, 0, text.length);
  return verdict === 'fits' ? parsedJson(text) : { kind: verdict };
}

/** The same for a text whose depth and number of values are known to be small. A byte order mark at its start is no JSON. */
export function parsedJson(text: string): JsonText {
  try {
    return { kind: 'json', value: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return { kind: 'not-json' };
    throw error;
  }
}

/** What the brackets and commas of a JSON text say of the value before anything of it is made. */
export type ShapeVerdict = 'fits' | 'too-deep' | 'too-many';

/** Follows a JSON text, piece by piece, and says when its value would nest too deep or hold more than `maxValues` values. */
export class JsonShape {
  readonly #maxValues: number;
  readonly #quotes: number[] | null;
  readonly #deepest: number;
  #length = 0;
  #depth = 0;
  #values = 0;
  #inString = false;
  #isEscaped = false;

  /** `quotes` is given the index of each quote that begins or ends a string, counted from the start of the first piece. */
  constructor(maxValues = Number.POSITIVE_INFINITY, quotes: number[] | null = null, deepest: number = maxDepth) {
    this.#maxValues = maxValues;
    this.#quotes = quotes;
    this.#deepest = deepest;
  }

  /** The brackets and commas so far: about as many values as the text holds, and never more than one fewer. */
  get values(): number {
    return this.#values;
  }

  /** The next piece of the text; of one that is no JSON the verdict says nothing. */
  add(text: string, from: number, to: number): ShapeVerdict {
    let [depth, values, inString, isEscaped] = [this.#depth, this.#values, this.#inString, this.#isEscaped];
    const quotes = this.#quotes;
    const deepest = this.#deepest;
    const offset = this.#length - from;
    for (let index = from; index < to; index += 1) {
      const code = text.charCodeAt(index);
      if (isEscaped) isEscaped = false;
      else if (code === quote) {
        inString = !inString;
        quotes?.push(offset + index);
      } else if (inString) isEscaped = code === backslash;
      else if (code === comma) values += 1;
      else if (code === openBracket || code === openBrace) {
        depth += 1;
        values += 1;
        if (depth > deepest) return 'too-deep';
      } else if (code === closeBracket || code === closeBrace) depth -= 1;
    }
    [this.#depth, this.#values, this.#inString, this.#isEscaped] = [depth, values, inString, isEscaped];
    this.#length += to - from;
    return values > this.#maxValues ? 'too-many' : 'fits';
  }
}
