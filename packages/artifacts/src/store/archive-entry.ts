/** Checks one entry of an archive, its name and its size included. */

import type { Entry, LocalFileHeader } from 'yauzl';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';

const stored = 0;
const deflated = 8;

const fileTypeMask = 0o170000;
const symbolicLink = 0o120000;
const regularFile = 0o100000;
const directory = 0o040000;

const dosDirectory = 0x10;
const dosReparsePoint = 0x400;
const unicodePathField = 0x7075;
const inZip64Field = 0xffffffff;

/** One entry of an archive whose directory has been checked, and where its data lie in the file. */
export interface ArchiveEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory';
  readonly compressed: boolean;
  readonly compressedSize: number;
  /** The size that the archive declares; a read that yields another number of bytes fails. */
  readonly size: number;
  readonly crc32: number;
  /** Where the local header begins; data and header together end at `dataEnd`. */
  readonly start: number;
  readonly dataStart: number;
  readonly dataEnd: number;
}

/**
 * The entry, with everything checked that its two headers say (docs/adr/registry.md "An archive is the same bytes everywhere"). Throws `E-ART-001` or
 * `E-ART-002`.
 */
export function checkEntry(entry: Entry, local: LocalFileHeader, archive: string, names: NameTable): ArchiveEntry {
  const decoded = decodeStrictUtf8(entry.fileNameRaw);
  const spelled = decoded ?? entry.fileNameRaw.toString('latin1');
  const kind = spelled.endsWith('/') ? 'directory' : 'file';
  const name = kind === 'directory' ? spelled.slice(0, -1) : spelled;

  const spelling = decoded === null ? 'has a name that is not UTF-8' : otherNameFault(entry, local);
  const fault = spelling ?? entryNameFault(name) ?? typeFault(entry, kind);
  const unreadable = encodingFault(entry, local);
  if (fault !== null) throw forbiddenEntry(archive, spelled, fault);
  if (unreadable !== null) throw new Diagnostic('E-ART-001', `${archive}: entry ${quoted(spelled)} ${unreadable}`);
  const collision = names.add(name, kind);
  if (collision !== null) throw forbiddenEntry(archive, name, collision);
  return {
    name,
    kind,
    compressed: entry.compressionMethod === deflated,
    compressedSize: entry.compressedSize,
    size: entry.uncompressedSize,
    crc32: entry.crc32,
    start: entry.relativeOffsetOfLocalHeader,
    dataStart: local.fileDataStart,
    dataEnd: local.fileDataStart + entry.compressedSize,
  };
}

/** `E-ART-002`, naming the entry. */
export function forbiddenEntry(archive: string, name: string, fault: string): Diagnostic {
  return new Diagnostic('E-ART-002', `${archive}: entry ${quoted(name)} ${fault}`, {
    hint: 'nothing of the archive was written; build it again from its source, or do not use it',
  });
}

// A name that two readers could read differently is how a checked archive becomes an unchecked one.
function otherNameFault({ fileNameRaw: raw, extraFields }: Entry, local: LocalFileHeader): string | null {
  if (!local.fileName.equals(raw)) return 'has another name in its own header';
  const isOther = extraFields.some(({ id, data }) => id === unicodePathField && !data.subarray(5).equals(raw));
  return isOther ? 'has a second, different name' : null;
}

/** Whether an entry says that it is a symbolic link, which no archive of an artifact may have. */
export function isSymbolicLink(entry: Entry): boolean {
  return typeOf(entry) === symbolicLink;
}

function typeOf({ externalFileAttributes }: Entry): number {
  return (externalFileAttributes >>> 16) & fileTypeMask;
}

function typeFault(entry: Entry, kind: 'file' | 'directory'): string | null {
  const type = typeOf(entry);
  const wanted = kind === 'file' ? regularFile : directory;
  if (type === symbolicLink) return 'is a symbolic link';
  if (type !== 0 && type !== regularFile && type !== directory) return 'is a special file';
  if (type !== 0 && type !== wanted) return 'is both a file and a directory';
  if ((entry.externalFileAttributes & dosReparsePoint) !== 0) return 'is a link';
  if (kind === 'file' && (entry.externalFileAttributes & dosDirectory) !== 0) return 'is both a file and a directory';
  if (kind === 'directory' && (entry.uncompressedSize !== 0 || entry.compressedSize > 2)) {
    return 'is a directory that holds data';
  }
  return null;
}

function encodingFault(entry: Entry, local: LocalFileHeader): string | null {
  if (entry.isEncrypted() || (local.generalPurposeBitFlag & 1) !== 0) return 'is encrypted';
  const method = entry.compressionMethod;
  if (method !== stored && method !== deflated) return `uses the unsupported compression method ${method}`;
  if (local.compressionMethod !== method) return 'names two different compression methods';
  return sizesDisagree(entry, local) ? 'names two different sizes or checksums' : null;
}

function sizesDisagree(entry: Entry, local: LocalFileHeader): boolean {
  // Bit 3: the writer did not know them yet when it wrote the local header.
  if ((local.generalPurposeBitFlag & 8) !== 0 || local.compressedSize === inZip64Field) return false;
  return (
    local.compressedSize !== entry.compressedSize ||
    local.uncompressedSize !== entry.uncompressedSize ||
    local.crc32 !== entry.crc32
  );
}

const maxNameBytes = 1024;
const maxComponentBytes = 255;
const maxDepth = 32;

/**
 * Why a file or directory name (without a trailing slash) may not stand in an archive; null when it may (docs/adr/registry.md "An archive is the same bytes
 * everywhere").
 */
export function entryNameFault(name: string): string | null {
  if (name === '') return 'has an empty name';
  if (Buffer.byteLength(name) > maxNameBytes) return 'has a name that is too long';
  if (/\p{Cc}/u.test(name)) return 'has a control character in its name';
  if (name.includes('\\')) return 'has a backslash in its name';
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return 'has an absolute path';
  const components = name.split('/');
  if (components.length > maxDepth) return 'is nested too deep';
  for (const component of components) {
    if (component === '..') return 'has a ".." component';
    if (component === '' || component === '.') return 'has an empty or "." component';
    if (Buffer.byteLength(component) > maxComponentBytes) return 'has a name that is too long';
  }
  return null;
}

interface Taken {
  readonly spelling: string;
  readonly kind: 'file' | 'directory' | 'implied directory';
}

/**
 * The names of one archive as a file system would see them, also one that folds case or normalises Unicode: two names that
 * would meet in one place, or a file that would have to be a directory too, are reported as a fault.
 */
export class NameTable {
  readonly #taken = new Map<string, Taken>();

  /** Takes the name in; the reason when it collides with one taken before, else null. */
  add(name: string, kind: 'file' | 'directory'): string | null {
    const components = name.split('/');
    for (let depth = 1; depth < components.length; depth += 1) {
      const fault = this.#claim(components.slice(0, depth).join('/'), 'implied directory');
      if (fault !== null) return fault;
    }
    return this.#claim(name, kind);
  }

  #claim(spelling: string, kind: Taken['kind']): string | null {
    const key = folded(spelling);
    const taken = this.#taken.get(key);
    if (taken === undefined) {
      this.#taken.set(key, { spelling, kind });
      return null;
    }
    if (taken.spelling !== spelling) return `collides with ${quoted(taken.spelling)} in case or Unicode form`;
    if (kind === 'file' || taken.kind === 'file') {
      return taken.kind === kind ? 'is there twice' : 'is both a file and a directory';
    }
    if (kind === 'directory' && taken.kind === 'directory') return 'is there twice';
    if (kind === 'directory') this.#taken.set(key, { spelling, kind });
    return null;
  }
}

// Upper case first: it joins what lower case alone keeps apart (ß and ss, the long s, the Kelvin sign).
function folded(name: string): string {
  return name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

/** What an archive may cost the machine that opens it. */
export interface ArchiveLimits {
  readonly maxArchiveBytes: number;
  /** The size of all files together, unpacked (docs/adr/registry.md "An archive is the same bytes everywhere"). */
  readonly maxUnpackedBytes: number;
  readonly maxEntries: number;
  /** The size of a file that is read as text: `svc.yaml`, `skill.md`, `task.md`. */
  readonly maxTextBytes: number;
}

const mebibyte = 1024 * 1024;

export const archiveLimits: ArchiveLimits = {
  maxArchiveBytes: 512 * mebibyte,
  maxUnpackedBytes: 500 * mebibyte,
  maxEntries: 10_000,
  maxTextBytes: mebibyte,
};

/** A limit as messages say it. */
export function inMebibytes(bytes: number): string {
  return `${bytes / mebibyte} MiB`;
}

/** The bytes of an archive as they come; `from` is who sends them. `E-ART-003` once there are more than an archive may have. */
export async function* boundedArchive<Chunk extends Uint8Array>(
  chunks: AsyncIterable<Chunk> | Iterable<Chunk>,
  from: string,
): AsyncGenerator<Chunk> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > archiveLimits.maxArchiveBytes) {
      throw new Diagnostic('E-ART-003', `${from} is larger than ${inMebibytes(archiveLimits.maxArchiveBytes)}`);
    }
    yield chunk;
  }
}

/** In bytes: no larger component is compiled, so none is looked into or packed. */
export const largestComponent: number = 128 * mebibyte;
/** The same in a sentence. */
export const largestComponentShown: string = inMebibytes(largestComponent);
