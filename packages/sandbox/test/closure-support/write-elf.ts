/** What a planted ELF file says; what is left out is absent. */
export interface ElfText {
  readonly machine?: 'x86_64' | 'aarch64';
  readonly interpreter?: string;
  readonly needed?: readonly string[];
  readonly soname?: string;
  readonly rpath?: string;
  readonly runpath?: string;
  readonly noDefaultLibraries?: boolean;
  /** No dynamic section at all. */
  readonly static?: boolean;
}

/** Where a file made by `writeElf` keeps what a test wants to break. */
export const elfLayout = { programHeaders: 64, programHeaderSize: 56, interpreterHeader: 64 + 2 * 56 } as const;

const baseAddress = 0x40_0000;

/** A small ELF file: a loaded segment over all of it, a dynamic section, an interpreter when one is named. */
export function writeElf(text: ElfText): Buffer {
  const strings = new Strings();
  const entries: [number, number][] = (text.needed ?? []).map((name) => [1, strings.add(name)]);
  if (text.soname !== undefined) entries.push([14, strings.add(text.soname)]);
  if (text.rpath !== undefined) entries.push([15, strings.add(text.rpath)]);
  if (text.runpath !== undefined) entries.push([29, strings.add(text.runpath)]);
  if (text.noDefaultLibraries === true) entries.push([0x6fff_fffb, 0x800]);
  const interpreter = text.interpreter === undefined ? null : Buffer.from(`${text.interpreter}\0`);
  const headerCount = 1 + (text.static === true ? 0 : 1) + (interpreter === null ? 0 : 1);
  const dynamicAt = 64 + headerCount * 56;
  const dynamicSize = (entries.length + 3) * 16;
  const stringsAt = dynamicAt + dynamicSize;
  const interpreterAt = stringsAt + strings.bytes.length;
  const size = interpreterAt + (interpreter?.length ?? 0);
  const bytes = Buffer.alloc(size);
  writeHeader(bytes, text.machine === 'aarch64' ? 183 : 62, headerCount);
  writeSegment(bytes, 0, { type: 1, offset: 0, size });
  if (text.static !== true) writeSegment(bytes, 1, { type: 2, offset: dynamicAt, size: dynamicSize });
  if (interpreter !== null) {
    writeSegment(bytes, headerCount - 1, { type: 3, offset: interpreterAt, size: interpreter.length });
    interpreter.copy(bytes, interpreterAt);
  }
  const all: [number, number][] = [...entries, [5, baseAddress + stringsAt], [10, strings.bytes.length], [0, 0]];
  for (const [index, [key, value]] of all.entries()) {
    bytes.writeBigUInt64LE(BigInt(key), dynamicAt + index * 16);
    bytes.writeBigUInt64LE(BigInt(value), dynamicAt + index * 16 + 8);
  }
  strings.bytes.copy(bytes, stringsAt);
  return bytes;
}

class Strings {
  bytes: Buffer = Buffer.from('\0');

  add(text: string): number {
    const at = this.bytes.length;
    this.bytes = Buffer.concat([this.bytes, Buffer.from(`${text}\0`)]);
    return at;
  }
}

function writeHeader(bytes: Buffer, machine: number, headerCount: number): void {
  bytes.write('\x7FELF\x02\x01\x01', 0, 'latin1');
  bytes.writeUInt16LE(3, 16);
  bytes.writeUInt16LE(machine, 18);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(headerCount, 56);
}

interface PlacedSegment {
  readonly type: number;
  readonly offset: number;
  readonly size: number;
}

function writeSegment(bytes: Buffer, index: number, { type, offset, size }: PlacedSegment): void {
  const at = 64 + index * 56;
  bytes.writeUInt32LE(type, at);
  bytes.writeBigUInt64LE(BigInt(offset), at + 8);
  bytes.writeBigUInt64LE(BigInt(baseAddress + offset), at + 16);
  bytes.writeBigUInt64LE(BigInt(size), at + 32);
}

export interface CacheLine {
  readonly name: string;
  readonly path: string;
  readonly flags?: number;
  readonly hwcap?: bigint;
}

/** An `ld.so.cache` in glibc's present format. */
export function writeLoaderCache(lines: readonly CacheLine[]): Buffer {
  const strings = new Strings();
  const entries = Buffer.alloc(lines.length * 24);
  const textsAt = 48 + entries.length;
  for (const [index, { name, path, flags = 0x0303, hwcap = 0n }] of lines.entries()) {
    entries.writeUInt32LE(flags, index * 24);
    entries.writeUInt32LE(textsAt + strings.add(name), index * 24 + 4);
    entries.writeUInt32LE(textsAt + strings.add(path), index * 24 + 8);
    entries.writeBigUInt64LE(hwcap, index * 24 + 16);
  }
  const header = Buffer.alloc(48);
  header.write('glibc-ld.so.cache1.1', 'latin1');
  header.writeUInt32LE(lines.length, 20);
  header.writeUInt32LE(strings.bytes.length, 24);
  header[28] = 2;
  return Buffer.concat([header, entries, strings.bytes]);
}
