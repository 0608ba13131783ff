/** Reads from the first bytes of a program what it is, and what it needs. */

import type { OpenedFile } from './opened-file.ts';

export type Machine = 'x86_64' | 'aarch64';

/** What a 64-bit program or shared library says about what it needs. */
export interface ElfFile {
  readonly machine: Machine;
  /** `PT_INTERP`; null for a library and a static program. */
  readonly interpreter: string | null;
  /** `DT_NEEDED`, in order. */
  readonly needed: readonly string[];
  readonly soname: string | null;
  /** `DT_RPATH`; empty beside a `DT_RUNPATH`, which takes its place. */
  readonly rpath: readonly string[];
  readonly runpath: readonly string[];
  /** `DF_1_NODEFLIB`: the loader passes over the default directories. */
  readonly noDefaultLibraries: boolean;
}

/** What the kernel would make of a file that it is asked to run. */
export type ProgramFormat =
  | ({ readonly kind: 'elf' } & ElfFile)
  | ({ readonly kind: 'script' } & Shebang)
  /** A sound file for some other kind of machine. */
  | { readonly kind: 'foreign'; readonly reason: string }
  | { readonly kind: 'malformed'; readonly reason: string }
  | { readonly kind: 'not-elf' };

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** Limits of what any toolchain makes, so that a hostile file costs no more than an honest one. */
const maxProgramHeaders = 1170;
const maxDynamicBytes = 64 * 1024;
const maxNeeded = 512;
const maxDirectories = 256;
const maxNameBytes = 4096;
const maxPathBytes = 64 * 1024;

const machines: ReadonlyMap<number, Machine> = new Map([
  [62, 'x86_64'],
  [183, 'aarch64'],
]);
const segmentType = { load: 1, dynamic: 2, interpreter: 3 } as const;
const tag = {
  needed: 1n,
  stringTable: 5n,
  stringTableSize: 10n,
  soname: 14n,
  rpath: 15n,
  runpath: 29n,
  flags1: 0x6fff_fffbn,
} as const;
const noDefaultLibrariesFlag = 0x800n;
const headerSize = 64;
const programHeaderSize = 56;

/**
 * Reads what a file says it needs in order to run. Never throws, and reads at most `maxBytesRead` bytes, whatever the
 * file holds. The caller closes the file.
 */
export function parseProgram(file: OpenedFile): ProgramFormat {
  const bytes = new BoundedBytes(file);
  const head = bytes.piece(0, Math.min(shebangBytes, file.size)) ?? Buffer.alloc(0);
  if (head.subarray(0, 2).toString('latin1') === '#!') {
    const shebang = parseShebang(head);
    return shebang === null ? malformed('its first line names no interpreter') : { kind: 'script', ...shebang };
  }
  if (head.subarray(0, 4).toString('latin1') !== '\x7FELF') return { kind: 'not-elf' };
  return head.length < headerSize ? malformed('its header is cut short') : parseElf(head, bytes);
}

function parseElf(head: Buffer, bytes: BoundedBytes): ProgramFormat {
  if (head[4] === 1) return { kind: 'foreign', reason: 'it is a 32-bit program' };
  if (head[5] === 2) return { kind: 'foreign', reason: 'it is a big-endian program' };
  if (head[4] !== 2 || head[5] !== 1 || head[6] !== 1) return malformed('its header is not one of ELF version 1');
  const machine = machines.get(head.readUInt16LE(18));
  if (machine === undefined) return { kind: 'foreign', reason: `it is for machine ${head.readUInt16LE(18)}` };
  const fileType = head.readUInt16LE(16);
  if (fileType !== 2 && fileType !== 3) return malformed('it is neither a program nor a shared library');
  const segments = parseSegments(head, bytes);
  if (typeof segments === 'string') return malformed(segments);
  const interpreter = parseInterpreter(segments, bytes);
  if (typeof interpreter === 'object' && interpreter !== null) return interpreter;
  const dynamic = parseDynamic(segments, bytes);
  return typeof dynamic === 'string' ? malformed(dynamic) : { kind: 'elf', machine, interpreter, ...dynamic };
}

function parseSegments(head: Buffer, bytes: BoundedBytes): Segment[] | string {
  const count = head.readUInt16LE(56);
  if (head.readUInt16LE(54) !== programHeaderSize) return 'its program headers have an unknown size';
  if (count === 0 || count > maxProgramHeaders) return `it has ${count} program headers`;
  const table = bytes.piece(numberAt(head, 32), count * programHeaderSize);
  if (table === null) return 'its program headers are not inside the file';
  return Array.from({ length: count }, (_, index) => {
    const at = index * programHeaderSize;
    return {
      type: table.readUInt32LE(at),
      offset: numberAt(table, at + 8),
      address: numberAt(table, at + 16),
      size: numberAt(table, at + 32),
    };
  });
}

function parseInterpreter(segments: readonly Segment[], bytes: BoundedBytes): string | null | ProgramFormat {
  const [named, second] = segments.filter(({ type }) => type === segmentType.interpreter);
  if (named === undefined) return null;
  if (second !== undefined) return malformed('it names more than one interpreter');
  const text = named.size > maxNameBytes ? null : bytes.text(named.offset, named.size);
  return text === null || text === '' ? malformed('the name of its interpreter is not a text') : text;
}

type Dynamic = Omit<ElfFile, 'machine' | 'interpreter'>;

const nothingDynamic: Dynamic = { needed: [], soname: null, rpath: [], runpath: [], noDefaultLibraries: false };

function parseDynamic(segments: readonly Segment[], bytes: BoundedBytes): Dynamic | string {
  const [section, second] = segments.filter(({ type }) => type === segmentType.dynamic);
  if (section === undefined) return nothingDynamic;
  if (second !== undefined) return 'it has more than one dynamic section';
  if (section.size > maxDynamicBytes) return 'its dynamic section is too large';
  const table = bytes.piece(section.offset, section.size);
  if (table === null) return 'its dynamic section is not inside the file';
  const values = dynamicValues(table);
  const needed = values.get(tag.needed) ?? [];
  if (needed.length > maxNeeded) return `it needs ${needed.length} libraries`;
  const strings = new StringTable(segments, values, bytes);
  const names = needed.map((offset) => strings.at(offset, maxNameBytes));
  const [soname, rpath, runpath] = [tag.soname, tag.rpath, tag.runpath].map((which) => {
    const offset = values.get(which)?.at(-1);
    return offset === undefined ? null : strings.at(offset, which === tag.soname ? maxNameBytes : maxPathBytes);
  });
  if (names.includes('')) return 'it needs a library without a name';
  if ([rpath, runpath].some((path) => directories(path).length > maxDirectories))
    return 'it names too many directories';
  if (strings.isBroken) return 'a name in its dynamic section is not a text inside the file';
  return {
    needed: names,
    soname: soname ?? null,
    rpath: runpath === null ? directories(rpath) : [],
    runpath: directories(runpath),
    noDefaultLibraries: ((values.get(tag.flags1)?.at(-1) ?? 0n) & noDefaultLibrariesFlag) !== 0n,
  };
}

/** Values by tag, in order, up to the terminating entry. */
function dynamicValues(table: Buffer): Map<bigint, bigint[]> {
  const values = new Map<bigint, bigint[]>();
  for (let at = 0; at + 16 <= table.length; at += 16) {
    const key = table.readBigUInt64LE(at);
    if (key === 0n) break;
    const kept = values.get(key);
    if (kept === undefined) values.set(key, [table.readBigUInt64LE(at + 8)]);
    else kept.push(table.readBigUInt64LE(at + 8));
  }
  return values;
}

/** The texts of a dynamic section. Where one cannot be read, the table is broken from then on. */
class StringTable {
  isBroken = false;
  readonly #bytes: BoundedBytes;
  readonly #start: number;
  readonly #size: number;

  constructor(segments: readonly Segment[], values: ReadonlyMap<bigint, readonly bigint[]>, bytes: BoundedBytes) {
    const address = Number(values.get(tag.stringTable)?.at(-1) ?? -1n);
    // The section speaks of addresses in memory; a loaded segment says where in the file they are.
    const holder = segments.find(
      ({ type, address: from, size }) => type === segmentType.load && address >= from && address < from + size,
    );
    this.#bytes = bytes;
    this.#start = holder === undefined ? Number.NaN : address - holder.address + holder.offset;
    this.#size = Number(values.get(tag.stringTableSize)?.at(-1) ?? 0n);
  }

  at(offset: bigint, maxLength: number): string {
    const place = Number(offset);
    const room = Math.min(this.#size - place, maxLength);
    const text = room > 0 ? this.#bytes.text(this.#start + place, room) : null;
    if (text === null) this.isBroken = true;
    // Not empty, so that the first fault is the one that is reported.
    return text ?? '?';
  }
}

function directories(path: string | null | undefined): string[] {
  return path === null || path === undefined ? [] : path.split(':').filter((directory) => directory !== '');
}

/** Imprecise above 2^53, where no file reaches: such a number is then refused as being outside. */
function numberAt(bytes: Buffer, offset: number): number {
  return Number(bytes.readBigUInt64LE(offset));
}

function malformed(reason: string): ProgramFormat {
  return { kind: 'malformed', reason };
}

/** The first line of a script, as the kernel reads it. */
interface Shebang {
  readonly interpreter: string;
  /** Everything after the interpreter, as one word; null when there is nothing. */
  readonly argument: string | null;
}

/** The kernel looks at this much of a program (`BINPRM_BUF_SIZE`). */
const shebangBytes = 256;

/** Returns null when the kernel would refuse the line: no interpreter, or a name that may have been cut. */
function parseShebang(head: Buffer): Shebang | null {
  const seen = head.subarray(0, shebangBytes);
  const newline = seen.indexOf(0x0a);
  const end = newline === -1 ? seen.length : newline;
  const line = seen.toString('utf8', 2, end).replace(/\0.*$/s, '');
  // The kernel knows spaces and tabs; a carriage return belongs to the name.
  const words = /^[ \t]*([^ \t]+)(?:[ \t]+(.*?))?[ \t]*$/s.exec(line);
  const interpreter = words?.[1];
  if (interpreter === undefined) return null;
  const cut = newline === -1 && seen.length === shebangBytes && !/^[ \t]*[^ \t]+[ \t]/.test(line);
  if (cut) return null;
  const argument = words?.[2];
  return { interpreter, argument: argument === undefined || argument === '' ? null : argument };
}

/** The program that `env` starts when a script names `env` with `argument`; null when it starts none. */
export function programOfEnv(argument: string | null): string | null {
  if (argument === null) return null;
  // Without -S the rest of the line is one word, so it is a program's name, an assignment or options in one word.
  const split = /^(?:-[iv0]*S|--split-string(?:=|\s+))\s*(.*)$/s.exec(argument);
  const words = split === null ? [argument] : (split[1] ?? '').split(/\s+/).filter((word) => word !== '');
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '-u' || word === '-C' || word === '--unset' || word === '--chdir') at += 1;
    else if (!word.startsWith('-') && !/^\w+=/.test(word)) return unquoted(word);
  }
  return null;
}

function unquoted(word: string): string {
  return word.replace(/^(['"])(.*)\1$/s, '$2');
}

const blockSize = 4096;

/** No more of one file is ever read or kept than this. */
export const maxBytesRead: number = 512 * blockSize;

/**
 * Reads pieces of a file whose own numbers say where they are. A piece that is not wholly inside the file, or past what
 * may be read of one file, is null; blocks are read once.
 */
class BoundedBytes {
  readonly #file: OpenedFile;
  readonly #blocks = new Map<number, Buffer>();

  constructor(file: OpenedFile) {
    this.#file = file;
  }

  /** Exactly `length` bytes from `offset`. */
  piece(offset: number, length: number): Buffer | null {
    if (!Number.isSafeInteger(offset) || offset < 0 || length < 0 || offset + length > this.#file.size) return null;
    const first = Math.floor(offset / blockSize);
    const last = Math.floor((offset + Math.max(length, 1) - 1) / blockSize);
    if (last - first >= maxBytesRead / blockSize) return null;
    const blocks: Buffer[] = [];
    for (let index = first; index <= last; index += 1) {
      const block = this.#block(index);
      if (block === null) return null;
      blocks.push(block);
    }
    const [only] = blocks;
    const joined = blocks.length === 1 && only !== undefined ? only : Buffer.concat(blocks);
    const start = offset - first * blockSize;
    // Shorter when the file was cut while we read it.
    return joined.length < start + length ? null : joined.subarray(start, start + length);
  }

  /** The text from `offset` to a NUL, which has to come within `maxLength` bytes. */
  text(offset: number, maxLength: number): string | null {
    const end = Math.min(offset + maxLength, this.#file.size);
    for (let length = Math.min(256, end - offset); length > 0; length = Math.min(length * 8, end - offset)) {
      const piece = this.piece(offset, length);
      if (piece === null) return null;
      const stop = piece.indexOf(0);
      if (stop !== -1) return piece.toString('utf8', 0, stop);
      if (length === end - offset) return null;
    }
    return null;
  }

  #block(index: number): Buffer | null {
    const kept = this.#blocks.get(index);
    if (kept !== undefined) return kept;
    if (this.#blocks.size >= maxBytesRead / blockSize) return null;
    const block = this.#file.read(index * blockSize, blockSize);
    this.#blocks.set(index, block);
    return block;
  }
}
