import { encodeUnsigned, MalformedWasm, WasmReader } from './wasm-reader.ts';

const pageBytes = 65_536;
const headerBytes = 8;
const memorySection = 5;
const hasMaximum = 0x01;
const isShared = 0x02;
const is64Bit = 0x04;
const hasPageSize = 0x08;
/** A memory that starts empty only stands in for another while a component is linked. */
const placeholderPages = 1n;

interface MemoryType {
  readonly flags: number;
  readonly minimum: bigint;
  readonly maximum: bigint | null;
}

interface Section {
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly body: Uint8Array;
}

export type CapOutcome =
  /** `memories[i]` says how many memories module `i` defines. */
  | { readonly kind: 'capped'; readonly modules: readonly Uint8Array[]; readonly memories: readonly number[] }
  /** `reason` is a clause: `it needs 20 MiB of memory and may have 16 MiB`. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * The core modules of a component with a maximum written into every memory they define, so that all memories together
 * never pass `maxBytes`. Memories share what is left over their initial sizes equally. Throws `MalformedWasm`.
 */
export function capMemories(modules: readonly Uint8Array[], maxBytes: number): CapOutcome {
  const parsed = modules.map((bytes) => ({ bytes, sections: readSections(bytes) }));
  const types = parsed.map(({ sections }) => sections.filter(({ id }) => id === memorySection).flatMap(readMemories));
  const allowed = BigInt(Math.floor(maxBytes / pageBytes));
  const shares = sharePages(types.flat(), allowed);
  if (shares === null) return { kind: 'refused', reason: tooMuch(types.flat(), allowed) };
  const capped = parsed.map(({ bytes, sections }, index) => {
    const memories = types[index] ?? [];
    return memories.length === 0 ? bytes : rewrite(bytes, sections, { memories, shares });
  });
  return { kind: 'capped', modules: capped, memories: types.map((memories) => memories.length) };
}

/** The maximum of each memory in pages; null when their initial sizes alone are too much. */
function sharePages(memories: readonly MemoryType[], allowed: bigint): ReadonlyMap<MemoryType, bigint> | null {
  const growing = memories.filter(({ minimum }) => minimum > 0n);
  const placeholders = BigInt(memories.length - growing.length) * placeholderPages;
  const initial = growing.reduce((sum, { minimum }) => sum + minimum, placeholders);
  if (initial > allowed) return null;
  const spare = growing.length === 0 ? 0n : (allowed - initial) / BigInt(growing.length);
  return new Map(
    memories.map((memory) => {
      const share = memory.minimum === 0n ? placeholderPages : memory.minimum + spare;
      return [memory, memory.maximum !== null && memory.maximum < share ? memory.maximum : share];
    }),
  );
}

function tooMuch(memories: readonly MemoryType[], allowed: bigint): string {
  const needed = memories.reduce((sum, { minimum }) => sum + (minimum === 0n ? placeholderPages : minimum), 0n);
  return `it needs ${inKiB(needed)} of memory and may have ${inKiB(allowed)}`;
}

function inKiB(pages: bigint): string {
  return `${pages * 64n} KiB`;
}

function readSections(bytes: Uint8Array): Section[] {
  const reader = new WasmReader(bytes);
  const header = reader.take(headerBytes);
  if (!Buffer.from(header).equals(Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]))) {
    throw new MalformedWasm('it does not start as a core module');
  }
  const sections: Section[] = [];
  while (!reader.done) {
    const start = reader.at;
    const id = reader.byte();
    const body = reader.take(reader.count());
    sections.push({ id, body, bytes: bytes.subarray(start, reader.at) });
  }
  return sections;
}

function readMemories({ body }: Section): MemoryType[] {
  const reader = new WasmReader(body);
  const memories = Array.from({ length: checkedCount(reader, body) }, () => readMemory(reader));
  if (!reader.done) throw new MalformedWasm('its memory section is longer than its memories');
  return memories;
}

/** A memory takes at least two bytes, so a larger count is a lie and is not allocated for. */
function checkedCount(reader: WasmReader, body: Uint8Array): number {
  const count = reader.count();
  if (count > body.length / 2) throw new MalformedWasm('its memory section is shorter than its memories');
  return count;
}

function readMemory(reader: WasmReader): MemoryType {
  const flags = reader.byte();
  if ((flags & isShared) !== 0) throw new MalformedWasm('a memory is shared between threads');
  if ((flags & hasPageSize) !== 0 || flags > 0x0f) throw new MalformedWasm('a memory is of an unknown form');
  const bits = (flags & is64Bit) === 0 ? 32 : 64;
  const minimum = reader.unsigned(bits);
  return { flags, minimum, maximum: (flags & hasMaximum) === 0 ? null : reader.unsigned(bits) };
}

function rewrite(
  bytes: Uint8Array,
  sections: readonly Section[],
  cap: { readonly memories: readonly MemoryType[]; readonly shares: ReadonlyMap<MemoryType, bigint> },
): Uint8Array {
  const limits = cap.memories.flatMap((memory) => [
    memory.flags | hasMaximum,
    ...encodeUnsigned(memory.minimum),
    ...encodeUnsigned(cap.shares.get(memory) ?? memory.minimum),
  ]);
  const body = [...encodeUnsigned(BigInt(cap.memories.length)), ...limits];
  const section = Uint8Array.from([memorySection, ...encodeUnsigned(BigInt(body.length)), ...body]);
  return Buffer.concat([
    bytes.subarray(0, headerBytes),
    ...sections.map(({ id, bytes }) => (id === memorySection ? section : bytes)),
  ]);
}
