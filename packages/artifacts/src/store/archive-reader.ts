/** Reads the directory of an archive, and refuses an archive that another program could read differently. */

import { fromRandomAccessReaderPromise, RandomAccessReader } from 'yauzl';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { RegularFile } from '@svc/kit/files/regular-file.ts';
import {
  type ArchiveEntry,
  type ArchiveLimits,
  checkEntry,
  forbiddenEntry,
  inMebibytes,
  NameTable,
} from './archive-entry.ts';

/** Without the comment. */
const endRecordBytes = 22;

/**
 * Reads and checks the directory of an archive: what is in it by name. Throws `E-ART-001` to `E-ART-003`; a malformed one also rejects with a plain
 * error. This module is loaded when an archive is read.
 */
export async function readDirectory(
  file: RegularFile,
  limits: ArchiveLimits,
): Promise<ReadonlyMap<string, ArchiveEntry>> {
  const options = { autoClose: false, decodeStrings: false };
  const zip = await fromRandomAccessReaderPromise(new ArchiveReader(file), file.size, options);
  if (zip.entryCount > limits.maxEntries) {
    throw new Diagnostic('E-ART-003', `${file.label} holds more than ${limits.maxEntries} entries`);
  }
  const directoryStart = Number(zip.readEntryCursor);
  const entries = new Map<string, ArchiveEntry>();
  const names = new NameTable();
  let unpacked = 0;
  for await (const raw of zip.eachEntry()) {
    const entry = checkEntry(raw, await zip.readLocalFileHeaderPromise(raw), file.label, names);
    unpacked += entry.size;
    if (unpacked > limits.maxUnpackedBytes) {
      throw new Diagnostic('E-ART-003', `${file.label} unpacks to more than ${inMebibytes(limits.maxUnpackedBytes)}`);
    }
    entries.set(entry.name, entry);
  }
  await checkLayout(file, entries.values(), {
    start: directoryStart,
    end: Number(zip.readEntryCursor),
    endRecord: file.size - endRecordBytes - zip.comment.length,
  });
  return entries;
}

/** Where the directory of an archive lies, and where the record at the end of the archive begins. */
interface DirectoryPlace {
  readonly start: number;
  readonly end: number;
  readonly endRecord: number;
}

/** What may follow the data of an entry: its sizes and checksum once more. */
const maxDescriptor = 24;

const largeEndRecord = 0x06064b50;
const largeEndBytes = 56;
const locatorBytes = 20;

/**
 * Holds an archive to one reading of its bytes: it begins with its first entry, entries share nothing, and the directory stands between
 * the last one and the end. Throws `E-ART-001`, and `E-ART-002` for entries that overlap.
 */
async function checkLayout(
  file: RegularFile,
  entries: Iterable<ArchiveEntry>,
  directory: DirectoryPlace,
): Promise<void> {
  const inFileOrder = [...entries].sort((a, b) => a.start - b.start);
  const overlapping = overlappingEntry(inFileOrder, directory.start);
  if (overlapping !== undefined) throw forbiddenEntry(file.label, overlapping.name, 'overlaps with other data');
  const first = inFileOrder[0]?.start ?? directory.start;
  if (first !== 0) throw unreadable(file, 'it begins with other data');
  const dataEnd = inFileOrder.at(-1)?.dataEnd ?? 0;
  const hasGap = directory.start - dataEnd > maxDescriptor;
  if (hasGap) throw unreadable(file, 'it has other data before its directory');
  if (!(await isBeforeEnd(file, directory)))
    throw unreadable(file, 'its directory does not end where the archive does');
}

// Entries that share their data are how a small archive unpacks to a huge one.
function overlappingEntry(inFileOrder: readonly ArchiveEntry[], directoryStart: number): ArchiveEntry | undefined {
  return inFileOrder.find(({ dataEnd }, index) => dataEnd > (inFileOrder[index + 1]?.start ?? directoryStart));
}

/** The records of a large archive may stand between its directory and its end. */
async function isBeforeEnd(file: RegularFile, { end, endRecord }: DirectoryPlace): Promise<boolean> {
  const between = endRecord - end;
  if (between < largeEndBytes + locatorBytes) return between === 0;
  const head = await file.readAt(end, 12);
  if (head?.readUInt32LE(0) !== largeEndRecord) return false;
  return 12 + Number(head.readBigUInt64LE(4)) + locatorBytes === between;
}

function unreadable({ label }: RegularFile, fault: string): Diagnostic {
  return new Diagnostic('E-ART-001', `${label} is not a readable zip archive: ${fault}`);
}

/** The file as yauzl reads it. A position out of bounds, which a hostile archive can name, is an error and not an exception. */
export class ArchiveReader extends RandomAccessReader {
  readonly #file: RegularFile;
  /** The end of the archive, which is read first and holds the directory of all but large archives. */
  #end: { readonly bytes: Buffer; readonly position: number } | null = null;

  constructor(file: RegularFile) {
    super();
    this.#file = file;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    const place = buffer.subarray(offset, offset + length);
    this.#readAt(position, place).then((isThere) => callback(null, isThere ? length : 0), callback);
  }

  async #readAt(position: number, place: Buffer): Promise<boolean> {
    const { size } = this.#file;
    const from = position - (this.#end?.position ?? size);
    if (from >= 0 && position + place.length <= size) return (this.#end?.bytes.copy(place, 0, from) ?? 0) > 0;
    const bytes = await this.#file.readAt(position, place.length, place);
    if (bytes !== null && position + place.length === size) this.#end = { bytes, position };
    return bytes !== null;
  }
}
