/** Reads the archive of an artifact once every entry has been found harmless. */

import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { crc32, inflateRaw, createInflateRaw } from 'node:zlib';
import { Readable } from 'node:stream';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import type { RegularFile } from '@svc/kit/files/regular-file.ts';
import { temporaryName } from '@svc/kit/files/temporary-name.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { type ArchiveEntry, type ArchiveLimits, archiveLimits, inMebibytes } from './archive-entry.ts';
import type { ArtifactContent } from './inspect-content.ts';

async function inflate(packed: Buffer, options: { readonly maxOutputLength: number }): Promise<Buffer> {
  return await promisify<Buffer, { maxOutputLength: number }, Buffer>(inflateRaw)(packed, options);
}

/**
 * An archive whose every entry has been found harmless; `file` stays open as long as it is read (docs/adr/registry.md "An archive is the same bytes
 * everywhere").
 */
export class Archive implements ArtifactContent {
  readonly file: RegularFile;
  readonly #entries: ReadonlyMap<string, ArchiveEntry>;
  readonly #limits: ArchiveLimits;

  constructor(file: RegularFile, entries: ReadonlyMap<string, ArchiveEntry>, limits: ArchiveLimits) {
    this.file = file;
    this.#entries = entries;
    this.#limits = limits;
  }

  get where(): string {
    return this.file.label;
  }

  /** The names of the files, in the order of the archive. */
  get files(): string[] {
    return [...this.#entries.values()].filter((entry) => entry.kind === 'file').map((entry) => entry.name);
  }

  /** The names of the directories that have entries of their own. */
  get directories(): string[] {
    return [...this.#entries.values()].filter((entry) => entry.kind === 'directory').map((entry) => entry.name);
  }

  has(name: string): boolean {
    return this.#entries.get(name)?.kind === 'file';
  }

  /** The bytes of one file, whole and with the right checksum: else `E-ART-001`; `E-ART-004` when there is no such file. */
  async read(name: string): Promise<Buffer> {
    const entry = this.#fileEntry(name);
    const packed = await this.file.readAt(entry.dataStart, entry.compressedSize);
    if (packed === null) throw this.#damaged(entry, 'is cut short');
    const data = entry.compressed ? await this.#inflate(entry, packed) : packed;
    if (data.length !== entry.size) throw this.#damaged(entry, 'does not have the size it declares');
    if (crc32(data) !== entry.crc32) throw this.#damaged(entry, 'has a wrong checksum');
    return data;
  }

  /**
   * The same bytes in pieces, so that a file of any size takes little memory. A piece is good until the next is asked for, and what is wrong
   * with the whole is thrown at the latest behind the last one: until then nothing in them can be believed.
   */
  pieces(name: string): AsyncIterable<Buffer> {
    return this.#wholePieces(this.#fileEntry(name));
  }

  /** The first bytes of one file, unpacked as far as they go; what `read` refuses for its whole is not noticed. */
  async readStart(name: string, maxBytes: number): Promise<Buffer> {
    const entry = this.#entries.get(name);
    if (entry?.kind !== 'file') return await this.read(name);
    const start = await entryStart(this.file, entry, maxBytes);
    if (typeof start === 'string') throw this.#damaged(entry, start);
    return start;
  }

  /** A file that is read as text; `E-ART-003` above the limit for texts. */
  async readText(name: string): Promise<string> {
    const { size = 0, compressedSize = 0 } = this.#entries.get(name) ?? {};
    const limit = this.#limits.maxTextBytes;
    if (Math.max(size, compressedSize) > limit) {
      throw new Diagnostic('E-ART-003', `${this.file.label}: ${quoted(name)} is larger than ${inMebibytes(limit)}`);
    }
    return (await this.read(name)).toString('utf8');
  }

  /** Reads every file once, in pieces, so that damage anywhere is found before the archive is taken in. */
  async verify(): Promise<void> {
    for (const entry of this.#entries.values()) {
      if (entry.kind !== 'file') continue;
      for await (const _ of this.#wholePieces(entry));
    }
  }

  /**
   * Unpacks into `target`, which must not exist, in pieces: everything goes to a directory beside it that takes the name at the end, so
   * `target` is whole or absent. Files are 0644, those under `bin/` 0755.
   */
  async extractTo(target: string): Promise<void> {
    const staging = join(dirname(target), temporaryName());
    try {
      makeDirectories(staging);
      for (const entry of this.#entries.values()) await this.#extract(entry, staging);
      await rename(staging, target);
    } catch (error) {
      throw ioFault(error, `cannot unpack ${this.file.label} to ${target}`);
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  }

  async #extract(entry: ArchiveEntry, staging: string): Promise<void> {
    const path = join(staging, entry.name);
    if (entry.kind === 'directory') {
      makeDirectories(path);
      return;
    }
    makeDirectories(dirname(path));
    const file = await open(path, 'wx', entry.name.startsWith('bin/') ? 0o755 : 0o644);
    try {
      // Behind the piece before it; the staging area goes where the whole turns out to be damaged.
      for await (const piece of this.#wholePieces(entry)) await file.writeFile(piece);
    } finally {
      await file.close();
    }
  }

  #fileEntry(name: string): ArchiveEntry {
    const entry = this.#entries.get(name);
    if (entry?.kind === 'file') return entry;
    throw new Diagnostic('E-ART-004', `${this.file.label} holds no file ${quoted(name)}`);
  }

  /** The data of an entry, in pieces: memory holds one at a time. */
  async *#wholePieces(entry: ArchiveEntry): AsyncGenerator<Buffer> {
    let size = 0;
    let sum = 0;
    try {
      // A piece is done with before the next is read, so that all of them may lie in the same place.
      const place = entry.compressed ? undefined : Buffer.allocUnsafe(Math.min(placeBytes, entry.compressedSize));
      for await (const piece of dataOf(this.file, entry, place)) {
        size += piece.length;
        if (size > entry.size) throw this.#damaged(entry, 'unpacks to more bytes than it declares');
        sum = crc32(piece, sum);
        yield piece;
      }
    } catch (error) {
      throw this.#damaged(entry, faultOf(error));
    }
    if (size !== entry.size) throw this.#damaged(entry, 'does not have the size it declares');
    if (sum !== entry.crc32) throw this.#damaged(entry, 'has a wrong checksum');
  }

  async #inflate(entry: ArchiveEntry, packed: Buffer): Promise<Buffer> {
    try {
      return await inflate(packed, { maxOutputLength: Math.max(1, entry.size) });
    } catch (error) {
      const code = errorCode(error) ?? '';
      if (code === 'ERR_BUFFER_TOO_LARGE') throw this.#damaged(entry, 'unpacks to more bytes than it declares');
      if (code.startsWith('Z_')) throw this.#damaged(entry, 'has damaged data');
      throw error;
    }
  }

  #damaged(entry: ArchiveEntry, fault: string): Diagnostic {
    return new Diagnostic('E-ART-001', `${this.file.label}: entry ${quoted(entry.name)} ${fault}`);
  }
}

/** Reads and checks the directory of an archive; data are checked as they are read. Throws `E-ART-001` to `E-ART-003`. */
export async function readArchive(file: RegularFile, limits: ArchiveLimits = archiveLimits): Promise<Archive> {
  if (file.size > limits.maxArchiveBytes) {
    throw new Diagnostic('E-ART-003', `${file.label} is larger than ${inMebibytes(limits.maxArchiveBytes)}`);
  }
  try {
    const { readDirectory } = await import('./archive-reader.ts');
    return new Archive(file, await readDirectory(file, limits), limits);
  } catch (error) {
    // The reader reports a malformed archive with plain errors; any other class of error is a bug.
    if (error instanceof Error && error.constructor === Error) {
      throw new Diagnostic('E-ART-001', `${file.label} is not a readable zip archive: ${error.message}`);
    }
    throw error;
  }
}

const pieceBytes = 256 * 1024;
/** How much is read at a time of data that lie in one place: a few large reads cost less than many. */
const placeBytes = 1024 * 1024;

/** The first bytes of an entry, fewer where it has no more; or what is wrong with them, as a clause. No more than they need is read. */
async function entryStart(file: RegularFile, entry: ArchiveEntry, maxBytes: number): Promise<Buffer | string> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of dataOf(file, entry)) {
      pieces.push(piece);
      size += piece.length;
      if (size >= maxBytes) break;
    }
  } catch (error) {
    return faultOf(error);
  }
  return Buffer.concat(pieces).subarray(0, maxBytes);
}

function dataOf(file: RegularFile, entry: ArchiveEntry, place?: Buffer): AsyncIterable<Buffer> {
  const packed = piecesOf(file, entry, place);
  return entry.compressed ? unpacked(packed) : packed;
}

function faultOf(error: unknown): string {
  if (error instanceof CutShort) return 'is cut short';
  if (errorCode(error)?.startsWith('Z_') === true) return 'has damaged data';
  throw error;
}

class CutShort extends Error {}

async function* piecesOf(file: RegularFile, entry: ArchiveEntry, place?: Buffer): AsyncGenerator<Buffer> {
  const most = place?.length ?? pieceBytes;
  for (let done = 0; done < entry.compressedSize; done += most) {
    const length = Math.min(most, entry.compressedSize - done);
    const piece = await file.readAt(entry.dataStart + done, length, place);
    if (piece === null) throw new CutShort();
    yield piece;
  }
}

async function* unpacked(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = Readable.from(packed);
  const inflate = createInflateRaw({ chunkSize: pieceBytes });
  source.on('error', (error) => inflate.destroy(error));
  source.pipe(inflate);
  try {
    for await (const piece of inflate) yield piece as Buffer;
  } finally {
    source.destroy();
    inflate.destroy();
  }
}
