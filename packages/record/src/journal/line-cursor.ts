/** Walks over the lines of a file without making anything for each of them. */

/** A line of more bytes is no record. */
export const maxLine: number = 16 * 1024 * 1024;

/** Behind so many lines, a file whose lines have fewer bytes than this on average is nothing that `svc` wrote: its lines cost far more than its bytes. */
const [maxShortLines, shortestLine] = [100_000, 64];

const lineFeed = 0x0a;
const chunkBytes = 1024 * 1024;

/** Fills bytes from their place in a file on, as far as it goes, and says how many those were. */
export type ReadInto = (bytes: Buffer, offset: number) => number;

/** One walk, as far as the last line feed there is. A journal of a long session has millions of lines, and most are only passed. */
export class LineCursor {
  readonly #read: ReadInto;
  #bytes: Buffer = Buffer.alloc(0);
  /** What was read, and the place of its first byte in the file. */
  #filled: Buffer = this.#bytes;
  #at: number;
  #start = 0;
  #end = -1;
  #isTooLong = false;
  readonly #from: number;
  #count = 0;
  #isTooMany = false;
  /** The end of the file was met: what is written from then on belongs to another walk. */
  #isAtEnd = false;

  /** Begins at the byte `offset`, where a line does. */
  constructor(read: ReadInto, offset: number) {
    this.#read = read;
    this.#at = this.#from = offset;
  }

  /** Goes to the next line. False where no line ends any more, before one that is longer than any record, and behind too many short ones. */
  next(): boolean {
    this.#start = this.#end + 1;
    for (;;) {
      this.#end = this.#filled.indexOf(lineFeed, this.#start);
      if (this.#end >= 0) {
        this.#isTooMany = this.#areShort();
        if (this.#isTooMany) break;
        this.#count += 1;
        return true;
      }
      if (!this.#readOn()) break;
    }
    this.#end = this.#start - 1;
    return false;
  }

  /**
   * Goes behind a line that is longer than any record, in the memory that the walk has already: what `bytes` held of it is gone then. False where it has
   * no end, and nothing comes any more.
   */
  skip(): boolean {
    this.#isTooLong = false;
    while (!this.#isAtEnd) {
      this.#at += this.#filled.length;
      const count = this.#read(this.#bytes, this.#at);
      this.#isAtEnd = count < this.#bytes.length;
      this.#filled = this.#bytes.subarray(0, count);
      this.#end = this.#filled.indexOf(lineFeed);
      if (this.#end >= 0) return true;
    }
    this.#end = this.#filled.length - 1;
    return false;
  }

  /** What the line is in, good until the next is gone to. */
  get bytes(): Buffer {
    return this.#filled;
  }

  /** Where the line begins in `bytes`. */
  get start(): number {
    return this.#start;
  }

  /** Where it ends in `bytes`, before its line feed. */
  get end(): number {
    return this.#end;
  }

  /** The line itself, good until the next is gone to. */
  get line(): Buffer {
    return this.#filled.subarray(this.#start, this.#end);
  }

  /** The byte of the file at which the line begins. */
  get offset(): number {
    return this.#at + this.#start;
  }

  /** Whether the walk has come by more short lines than `svc` writes, and does not go on. */
  get isTooMany(): boolean {
    return this.#isTooMany;
  }

  /** Whether the walk ended before a line that is longer than any record. */
  get isTooLong(): boolean {
    return this.#isTooLong;
  }

  /** Why the walk ended before the file did, as a clause about the line that comes next; null where it did not. */
  get fault(): string | null {
    if (this.#isTooMany) return `stands behind ${maxShortLines} lines that are shorter than records`;
    return this.#isTooLong ? 'is longer than a record can be' : null;
  }

  #areShort(): boolean {
    return this.#count >= maxShortLines && this.offset - this.#from < this.#count * shortestLine;
  }

  /** Reads more behind what has begun; false when there is no more. */
  #readOn(): boolean {
    if (this.#isAtEnd) return false;
    const rest = this.#filled.subarray(this.#start);
    if (rest.length >= maxLine) {
      this.#isTooLong = true;
      return false;
    }
    const isFull = rest.length === this.#bytes.length;
    const room = isFull ? Buffer.allocUnsafe(Math.min(Math.max(rest.length * 4, chunkBytes), maxLine)) : this.#bytes;
    rest.copy(room);
    const free = room.subarray(rest.length);
    const count = this.#read(free, this.#at + this.#start + rest.length);
    this.#isAtEnd = count < free.length;
    this.#at += this.#start;
    this.#start = 0;
    this.#bytes = room;
    this.#filled = room.subarray(0, rest.length + count);
    return count > 0;
  }
}
