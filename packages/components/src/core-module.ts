/** Reads the binary form of WebAssembly: the sections of a core module, and which memories and tables an instance of it has. */

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

const headerBytes = 8;
const sectionIds = { types: 1, functions: 3, tables: 4, memories: 5, globals: 6, code: 10 } as const;
const functionType = 0x60;
/** `i32 i64 f32 f64 v128 funcref externref`: of these nothing can be made that stays in the engine's heap. */
const plainTypes: ReadonlySet<number> = new Set([0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f]);
const elementTypes: ReadonlySet<number> = new Set([0x70, 0x6f]);
const hasMaximum = 0x01;
const isShared = 0x02;
const is64Bit = 0x04;
const hasPageSize = 0x08;
/** In one module. */
const maxOfAKind = 1_000;

interface Limits {
  readonly flags: number;
  readonly minimum: bigint;
  readonly maximum: bigint | null;
}

/** In pages. */
export type MemoryType = Limits;

/** In entries. */
export interface TableType extends Limits {
  readonly element: number;
}

export interface Section {
  readonly id: number;
  /** The whole section, with its id and length. */
  readonly bytes: Uint8Array;
  /** The memories or tables that it is made of; empty for every other section. */
  readonly defines: readonly (MemoryType | TableType)[];
}

export interface CoreModuleShape {
  readonly headerBytes: number;
  readonly sections: readonly Section[];
  readonly memories: readonly MemoryType[];
  readonly tables: readonly TableType[];
  readonly globals: number;
  readonly functions: number;
  /** In bytes. */
  readonly maxFunction: number;
}

/**
 * Throws `MalformedWasm`, also for what is not offered: memories shared between threads, and types whose values the engine keeps in its own
 * heap (structs, arrays, exceptions as values). Nothing bounds how many of those a module makes, and Node 20 has none of them.
 */
export function readCoreModule(bytes: Uint8Array): CoreModuleShape {
  const reader = new WasmReader(bytes);
  if (!Buffer.from(reader.take(headerBytes)).equals(Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]))) {
    throw new MalformedWasm('it does not start as a core module');
  }
  const shape = {
    headerBytes,
    sections: [] as Section[],
    memories: [] as MemoryType[],
    tables: [] as TableType[],
    globals: 0,
    functions: 0,
    maxFunction: 0,
  };
  while (!reader.done) {
    const start = reader.at;
    const id = reader.byte();
    const body = reader.take(reader.count());
    let defines: readonly (MemoryType | TableType)[] = [];
    if (id === sectionIds.types) checkTypes(body);
    else if (id === sectionIds.functions) shape.functions += new WasmReader(body).count();
    else if (id === sectionIds.code) shape.maxFunction = maxOf(body);
    else if (id === sectionIds.globals) shape.globals += new WasmReader(body).count();
    else if (id === sectionIds.tables) shape.tables.push(...(defines = readAll(body, 'table', readTable)));
    else if (id === sectionIds.memories) shape.memories.push(...(defines = readAll(body, 'memory', readMemory)));
    shape.sections.push({ id, bytes: bytes.subarray(start, reader.at), defines });
  }
  return shape;
}

/** There may be a million: without a `WasmReader`, and what is malformed is left to the engine. */
function maxOf(code: Uint8Array): number {
  let longest = 0;
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = code[at] ?? 0;
      at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  next();
  while (at < code.length) {
    const size = next();
    longest = Math.max(longest, size);
    at += size;
  }
  return longest;
}

function checkTypes(body: Uint8Array): void {
  const reader = new WasmReader(body);
  const count = reader.count();
  for (let at = 0; at < count; at += 1) {
    if (reader.byte() !== functionType) throw new MalformedWasm('it declares structs or arrays, which are not offered');
    for (const _ of ['parameters', 'results']) {
      const types = reader.count();
      for (let type = 0; type < types; type += 1) {
        if (!plainTypes.has(reader.byte())) throw new MalformedWasm('a function has a type that is not offered');
      }
    }
  }
}

/** Each takes at least two bytes, so a larger count is a lie; neither that nor more than are of use is allocated for. */
function readAll<Type>(body: Uint8Array, what: 'memory' | 'table', read: (reader: WasmReader) => Type): Type[] {
  const reader = new WasmReader(body);
  const count = reader.count();
  const all = what === 'memory' ? 'memories' : 'tables';
  if (count > body.length / 2) throw new MalformedWasm(`its ${what} section is shorter than its ${all}`);
  if (count > maxOfAKind) throw new MalformedWasm(`it has ${count} ${all}`);
  const types = Array.from({ length: count }, () => read(reader));
  if (!reader.done) throw new MalformedWasm(`its ${what} section is longer than its ${all}`);
  return types;
}

function readMemory(reader: WasmReader): MemoryType {
  const flags = reader.byte();
  if ((flags & isShared) !== 0) throw new MalformedWasm('a memory is shared between threads');
  if ((flags & hasPageSize) !== 0 || flags > 0x0f) throw new MalformedWasm('a memory is of an unknown form');
  return limitsOf(reader, flags);
}

function readTable(reader: WasmReader): TableType {
  const element = reader.byte();
  if (!elementTypes.has(element)) throw new MalformedWasm('a table holds what is not offered');
  const flags = reader.byte();
  if ((flags & ~(hasMaximum | is64Bit)) !== 0) throw new MalformedWasm('a table is of an unknown form');
  return { element, ...limitsOf(reader, flags) };
}

function limitsOf(reader: WasmReader, flags: number): Limits {
  const bits = (flags & is64Bit) === 0 ? 32 : 64;
  const minimum = reader.unsigned(bits);
  return { flags, minimum, maximum: (flags & hasMaximum) === 0 ? null : reader.unsigned(bits) };
}
