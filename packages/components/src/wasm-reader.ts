/** Reads the binary format from a place on. Every read past the end, and every number that is too long, throws `MalformedWasm`. */
export class WasmReader {
  readonly bytes: Uint8Array;
  at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.at = start;
    this.#end = end;
  }

  get done(): boolean {
    return this.at >= this.#end;
  }

  byte(): number {
    const value = this.at < this.#end ? this.bytes[this.at] : undefined;
    if (value === undefined) throw new MalformedWasm('it ends in the middle of a value');
    this.at += 1;
    return value;
  }

  /** An unsigned LEB128 number of at most `bits` bits. */
  unsigned(bits: 32 | 64): bigint {
    let value = 0n;
    for (let shift = 0; shift < bits; shift += 7) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << BigInt(shift);
      if ((byte & 0x80) === 0) {
        if (value >= 1n << BigInt(bits)) throw new MalformedWasm('a number is too large');
        return value;
      }
    }
    throw new MalformedWasm('a number is too long');
  }

  count(): number {
    return Number(this.unsigned(32));
  }

  take(length: number): Uint8Array {
    if (length > this.#end - this.at) throw new MalformedWasm('it ends in the middle of a section');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}

export class MalformedWasm extends Error {
  constructor(what: string) {
    super(`the module is malformed: ${what}`);
    this.name = 'MalformedWasm';
  }
}

export function encodeUnsigned(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return bytes;
}
