/** Writes protobuf messages into one buffer that grows. */

const smallest = 4096;
/** A text up to this is copied character by character: for a longer one the encoder's call costs less. */
const shortText = 40;
const twoTo32 = 4_294_967_296;
const nanosecondsOfMs = 1_000_000;

/** The fields of a message are written in turn; a message within it between `begin` and `end`. Nothing is left out for being zero. */
export class ProtobufWriter {
  #bytes: Buffer = Buffer.allocUnsafe(smallest);
  #at = 0;

  /** All that was written, as bytes of its own. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }

  /** Opens a message in a message; `end` is given what this returns. */
  begin(field: number): number {
    this.#room(16);
    this.#tag(field, 2);
    this.#at += 1;
    return this.#at;
  }

  /** The length stands before the message, in one byte until it is known to need more. */
  end(start: number): void {
    const length = this.#at - start;
    if (length < 0x80) {
      this.#bytes[start - 1] = length;
      return;
    }
    const more = sizeOfVarint(length) - 1;
    this.#room(more);
    this.#bytes.copyWithin(start + more, start, this.#at);
    const end = this.#at + more;
    this.#at = start - 1;
    this.#varint(length);
    this.#at = end;
  }

  /** A whole number from -2^53 to 2^53. */
  int(field: number, value: number): void {
    this.#room(20);
    this.#tag(field, 0);
    if (value >= 0) this.#varint(value);
    else this.#negative(value);
  }

  text(field: number, value: string): void {
    const { length } = value;
    this.#room(16 + length * 3);
    this.#tag(field, 2);
    if (length <= shortText && this.#ascii(value)) return;
    const bytes = Buffer.byteLength(value);
    this.#varint(bytes);
    this.#at += this.#bytes.write(value, this.#at);
  }

  /** The bytes that an even number of hex characters stands for. */
  hex(field: number, value: string): void {
    const length = value.length >>> 1;
    this.#room(16 + length);
    this.#tag(field, 2);
    this.#varint(length);
    for (let at = 0; at < value.length; at += 2) {
      this.#bytes[this.#at++] = (digit(value.charCodeAt(at)) << 4) | digit(value.charCodeAt(at + 1));
    }
  }

  /** Whole milliseconds as nanoseconds, which need more than the 53 bits of a number. */
  nanoseconds(field: number, ms: number): void {
    this.#room(16);
    this.#tag(field, 1);
    const low = (ms % twoTo32) * nanosecondsOfMs;
    const high = Math.floor(ms / twoTo32) * nanosecondsOfMs + Math.floor(low / twoTo32);
    this.#at = this.#bytes.writeUInt32LE(low % twoTo32, this.#at);
    this.#at = this.#bytes.writeUInt32LE(high % twoTo32, this.#at);
  }

  fixed32(field: number, value: number): void {
    this.#room(16);
    this.#tag(field, 5);
    this.#at = this.#bytes.writeUInt32LE(value, this.#at);
  }

  /** A whole number from 0 to 2^53. */
  fixed64(field: number, value: number): void {
    this.#room(16);
    this.#tag(field, 1);
    this.#eight(value);
  }

  double(field: number, value: number): void {
    this.#room(16);
    this.#tag(field, 1);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  packedFixed64(field: number, values: readonly number[]): void {
    this.#packed(field, values);
    for (const value of values) this.#eight(value);
  }

  packedDoubles(field: number, values: readonly number[]): void {
    this.#packed(field, values);
    for (const value of values) this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  #packed(field: number, { length }: readonly number[]): void {
    this.#room(16 + length * 8);
    this.#tag(field, 2);
    this.#varint(length * 8);
  }

  #eight(value: number): void {
    this.#at = this.#bytes.writeUInt32LE(value % twoTo32, this.#at);
    this.#at = this.#bytes.writeUInt32LE(Math.floor(value / twoTo32), this.#at);
  }

  /** False, and nothing written, for a text that has more than ASCII. */
  #ascii(value: string): boolean {
    const start = this.#at;
    this.#bytes[this.#at++] = value.length;
    for (let index = 0; index < value.length; index += 1) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) {
        this.#at = start;
        return false;
      }
      this.#bytes[this.#at++] = code;
    }
    return true;
  }

  #tag(field: number, wireType: number): void {
    this.#varint((field << 3) | wireType);
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at++] = rest;
  }

  /** In two's complement, always ten bytes. */
  #negative(value: number): void {
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest >= 0x80n) {
      this.#bytes[this.#at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#at++] = Number(rest);
  }

  #room(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

function sizeOfVarint(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
  return size;
}

function digit(code: number): number {
  return code < 0x3a ? code - 0x30 : code - 0x57;
}
