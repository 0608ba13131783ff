/** Keeps the bytes of a file of lines as they come, and finds each line again. */

const lineFeed = 10;
/** A longer line is not kept: nothing of a session writes one. */
const longestLine = 64 * 1024 * 1024;

interface Chunk {
  readonly bytes: Uint8Array;
  /** The number of its first line. */
  readonly first: number;
  /** Where each of its lines begins. */
  readonly starts: Uint32Array;
}

/** Whole lines alone count. What follows the last line feed is held back until the line ends. */
export class LineStore {
  readonly #longest: number;
  readonly #chunks: Chunk[] = [];
  readonly #decoder = new TextDecoder();
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** Where the last line feed that is held back stands. */
  #cut: { readonly piece: number; readonly end: number } | null = null;
  /** The rest of a line that was too long is passed over. */
  #isSkipping = false;
  #count = 0;
  #bytes = 0;

  constructor(longest: number = longestLine) {
    this.#longest = longest;
  }

  get count(): number {
    return this.#count;
  }

  /** Bytes that came, with those of a line that has not ended. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of a line that has not ended. */
  get tailBytes(): number {
    return this.#pendingBytes;
  }

  /** Takes the next bytes, which may not be changed afterwards. */
  push(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    let from = 0;
    if (this.#isSkipping) {
      const end = bytes.indexOf(lineFeed);
      if (end === -1) return;
      this.#isSkipping = false;
      from = end + 1;
    }
    if (from === bytes.length) return;
    const piece = from === 0 ? bytes : bytes.subarray(from);
    this.#pending.push(piece);
    this.#pendingBytes += piece.length;
    const end = piece.lastIndexOf(lineFeed) + 1;
    if (end > 0) this.#cut = { piece: this.#pending.length - 1, end };
  }

  /** The lines that have come whole since the last call, as texts. One that is too long is told as its beginning, which is no JSON. */
  take(): readonly string[] {
    const whole = this.#wholeLines();
    if (whole === null) return [];
    const text = this.#decoder.decode(whole.subarray(0, whole.length - 1));
    const lines = text.split('\n');
    const starts = new Uint32Array(lines.length);
    for (let line = 1, at = 0; line < lines.length; line += 1) {
      at = whole.indexOf(lineFeed, at) + 1;
      starts[line] = at;
    }
    this.#chunks.push({ bytes: whole, first: this.#count, starts });
    this.#count += lines.length;
    return lines;
  }

  /** The text of a line; '' for one that is not there. */
  line(number: number): string {
    const chunk = this.#chunkOf(number);
    if (chunk === null) return '';
    const index = number - chunk.first;
    const start = chunk.starts[index] ?? 0;
    const end = chunk.starts[index + 1] ?? chunk.bytes.length;
    return this.#decoder.decode(chunk.bytes.subarray(start, end - 1));
  }

  /** All lines, some at a time, from the first on. */
  *blocks(): Generator<{ readonly first: number; readonly lines: readonly string[] }> {
    for (const { bytes, first } of this.#chunks) {
      yield { first, lines: this.#decoder.decode(bytes.subarray(0, bytes.length - 1)).split('\n') };
    }
  }

  #wholeLines(): Uint8Array | null {
    const cut = this.#cut;
    if (cut === null) return this.#pendingBytes > this.#longest ? this.#cutLongLine() : null;
    this.#cut = null;
    const taken = this.#pending.slice(0, cut.piece + 1);
    const last = taken.pop() ?? new Uint8Array();
    const whole = joined([...taken, last.subarray(0, cut.end)]);
    const rest = last.subarray(cut.end);
    this.#pending = [...(rest.length === 0 ? [] : [rest]), ...this.#pending.slice(cut.piece + 1)];
    this.#pendingBytes -= whole.length;
    return whole;
  }

  #cutLongLine(): Uint8Array {
    const beginning = joined([
      ...this.#pending.slice(0, 1).map((piece) => piece.subarray(0, 1000)),
      Uint8Array.of(lineFeed),
    ]);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#isSkipping = true;
    return beginning;
  }

  #chunkOf(number: number): Chunk | null {
    if (!(number >= 0 && number < this.#count)) return null;
    let [low, high] = [0, this.#chunks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#chunks[middle]?.first ?? 0) <= number) low = middle;
      else high = middle - 1;
    }
    return this.#chunks[low] ?? null;
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
