import { Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import type { ArchiveEntry } from './archive-entry.ts';
import type { RegularFile } from '@svc/kit/files/regular-file.ts';

const pieceBytes = 256 * 1024;
/** Of data whose pieces lie in one place: a few large reads cost less than many. */
const placeBytes = 1024 * 1024;

/** What is wrong with the data of an entry, as a clause; null when they are whole. Read in pieces: no entry is held in memory. */
export async function entryDataFault(file: RegularFile, entry: ArchiveEntry): Promise<string | null> {
  let size = 0;
  let sum = 0;
  try {
    // The sum is taken of each piece before the next is read, so that all of them may lie in the same place.
    const place = entry.compressed ? undefined : Buffer.allocUnsafe(Math.min(placeBytes, entry.compressedSize));
    for await (const piece of dataOf(file, entry, place)) {
      size += piece.length;
      if (size > entry.size) return 'unpacks to more bytes than it declares';
      sum = crc32(piece, sum);
    }
  } catch (error) {
    return faultOf(error);
  }
  if (size !== entry.size) return 'does not have the size it declares';
  return sum === entry.crc32 ? null : 'has a wrong checksum';
}

/** The first bytes of an entry, fewer where it has no more; or what is wrong with them, as a clause. No more than they need is read. */
export async function entryStart(file: RegularFile, entry: ArchiveEntry, maxBytes: number): Promise<Buffer | string> {
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
