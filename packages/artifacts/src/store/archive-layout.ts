import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { type ArchiveEntry, forbidden } from './archive-entry.ts';
import type { RegularFile } from '@svc/kit/files/regular-file.ts';

/** Where the directory of an archive lies, and where the record at the end of the archive begins. */
export interface DirectoryPlace {
  readonly start: number;
  readonly end: number;
  readonly endRecord: number;
}

/** What may follow the data of an entry: its sizes and checksum once more. */
const longestDescriptor = 24;

const largeEndRecord = 0x06064b50;
const largeEndBytes = 56;
const locatorBytes = 20;

/**
 * Holds an archive to one reading of its bytes: it begins with its first entry, entries share nothing, and the directory stands between
 * the last one and the end. Throws `E-ART-001`, and `E-ART-002` for entries that overlap.
 */
export async function checkLayout(
  file: RegularFile,
  entries: Iterable<ArchiveEntry>,
  directory: DirectoryPlace,
): Promise<void> {
  const inFileOrder = [...entries].sort((a, b) => a.start - b.start);
  refuseOverlaps(inFileOrder, file.label, directory.start);
  const first = inFileOrder[0]?.start ?? directory.start;
  if (first !== 0) throw unreadable(file, 'it begins with other data');
  const dataEnd = inFileOrder.at(-1)?.dataEnd ?? 0;
  const hasGap = directory.start - dataEnd > longestDescriptor;
  if (hasGap) throw unreadable(file, 'it has other data before its directory');
  if (!(await isBeforeEnd(file, directory)))
    throw unreadable(file, 'its directory does not end where the archive does');
}

// Entries that share their data are how a small archive unpacks to a huge one.
function refuseOverlaps(inFileOrder: readonly ArchiveEntry[], archive: string, directoryStart: number): void {
  for (const [index, entry] of inFileOrder.entries()) {
    const end = inFileOrder[index + 1]?.start ?? directoryStart;
    if (entry.dataEnd > end) throw forbidden(archive, quoted(entry.name), 'overlaps with other data');
  }
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
