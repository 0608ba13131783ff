/** Keeps the bytes of a file of lines as they come, and finds each line again. */

const lineFeed = 10;
/** A longer line is not kept: nothing of a session writes one. */
const longestLine = 64 * 1024 * 1024;

/** Whole lines, in the order in which they came. */
interface Chunk {
  readonly bytes: Uint8Array;
  /** The number of its first line. */
  readonly first: number;
}

/** Whole lines alone count. What follows the last line feed is held back until the line ends. */
export class LineStore {
  readonly #longest: number;
  readonly #chunks: Chunk[] = [];
  readonly #decoder = new TextDecoder();
  /** The chunk that was looked into last: who asks for a line asks for those around it. */
  #shown: { readonly chunk: Chunk; readonly lines: readonly string[] } | null = null;
  #pending: Uint8Array[] = [];
  /** The rest of a line that was too long is passed over. */
  #isSkipping = false;
  /** Lines that are whole. */
  count = 0;
  /** Bytes that came, with those of a line that has not ended. */
  bytes = 0;
  #tailBytes = 0;

  constructor(longest: number = longestLine) {
    this.#longest = longest;
  }

  /** Takes the next bytes, which may not be changed afterwards. The lines that are whole with them, as texts: of one that is too long its beginning, which is no JSON. */
  push(bytes: Uint8Array): readonly string[] {
    this.bytes += bytes.length;
    const [first, last] = [bytes.indexOf(lineFeed) + 1, bytes.lastIndexOf(lineFeed) + 1];
    if (this.#isSkipping) {
      this.#isSkipping = first === 0;
      return this.#isSkipping ? [] : [...this.#lines(bytes.subarray(first, last)), ...this.#hold(bytes.subarray(last))];
    }
    if (first === 0) return this.#hold(bytes);
    // The line that is cut by the bytes is put together by itself, so that those of all others stay where they are.
    const begun = this.#pending.length > 0 ? this.#lines(joined([...this.#pending, bytes.subarray(0, first)])) : [];
    const lines = this.#lines(bytes.subarray(begun.length > 0 ? first : 0, last));
    this.#pending = [];
    this.#tailBytes = 0;
    return [...begun, ...lines, ...this.#hold(bytes.subarray(last))];
  }

  /** The text of a line; '' for one that is not there. */
  line(number: number): string {
    let [low, high] = [0, this.#chunks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#chunks[middle]?.first ?? 0) > number) high = middle;
      else low = middle + 1;
    }
    const chunk = this.#chunks[low - 1];
    if (chunk === undefined) return '';
    if (this.#shown?.chunk !== chunk) this.#shown = { chunk, lines: this.#texts(chunk.bytes) };
    return this.#shown.lines[number - chunk.first] ?? '';
  }

  /** All lines, some at a time, from the first on. */
  *blocks(): Generator<{ readonly first: number; readonly lines: readonly string[] }> {
    for (const { bytes, first } of this.#chunks) yield { first, lines: this.#texts(bytes) };
  }

  #lines(bytes: Uint8Array): readonly string[] {
    if (bytes.length === 0) return [];
    const lines = this.#texts(bytes);
    this.#chunks.push({ bytes, first: this.count });
    this.count += lines.length;
    return lines;
  }

  /** Of bytes that end with a line feed. */
  #texts(bytes: Uint8Array): readonly string[] {
    return this.#decoder.decode(bytes.subarray(0, bytes.length - 1)).split('\n');
  }

  #hold(bytes: Uint8Array): readonly string[] {
    if (bytes.length > 0) this.#pending.push(bytes);
    this.#tailBytes += bytes.length;
    if (this.#tailBytes <= this.#longest) return [];
    const beginning = joined([(this.#pending[0] ?? bytes).subarray(0, 1000), Uint8Array.of(lineFeed)]);
    this.#pending = [];
    this.#tailBytes = 0;
    this.#isSkipping = true;
    return this.#lines(beginning);
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
