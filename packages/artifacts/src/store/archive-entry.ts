import type { Entry, LocalFileHeader } from 'yauzl';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { entryNameFault } from './entry-name.ts';

const stored = 0;
const deflated = 8;

const fileTypeMask = 0o170000;
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
  /** As the archive declares it; a read that yields another number of bytes fails. */
  readonly size: number;
  readonly crc32: number;
  /** Of the local header; data and header together end at `dataEnd`. */
  readonly start: number;
  readonly dataStart: number;
  readonly dataEnd: number;
}

/** The entry, with everything checked that its two headers say (contracts §4). Throws `E-ART-001` or `E-ART-002`. */
export function checkEntry(entry: Entry, local: LocalFileHeader, archive: string): ArchiveEntry {
  const spelled = checkName(entry, local, archive);
  const shown = quoted(spelled);
  const kind = spelled.endsWith('/') ? 'directory' : 'file';
  const name = kind === 'directory' ? spelled.slice(0, -1) : spelled;

  const fault = entryNameFault(name) ?? typeFault(entry, kind);
  if (fault !== null) throw forbidden(archive, shown, fault);

  const unreadable = encodingFault(entry, local);
  if (unreadable !== null) throw new Diagnostic('E-ART-001', `${archive}: entry ${shown} ${unreadable}`);

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
export function forbidden(archive: string, shown: string, fault: string): Diagnostic {
  return new Diagnostic('E-ART-002', `${archive}: entry ${shown} ${fault}`, {
    hint: 'nothing of the archive was written; build it again from its source, or do not use it',
  });
}

// A name that two readers could read differently is how a checked archive becomes an unchecked one.
function checkName(entry: Entry, local: LocalFileHeader, archive: string): string {
  const raw = entry.fileNameRaw;
  const name = decodeStrictUtf8(raw);
  const shown = quoted(name ?? raw.toString('latin1'));
  if (name === null) throw forbidden(archive, shown, 'has a name that is not UTF-8');
  if (!local.fileName.equals(raw)) throw forbidden(archive, shown, 'has another name in its own header');
  for (const field of entry.extraFields) {
    if (field.id === unicodePathField && !field.data.subarray(5).equals(raw)) {
      throw forbidden(archive, shown, 'has a second, different name');
    }
  }
  return name;
}

function typeFault(entry: Entry, kind: 'file' | 'directory'): string | null {
  const type = (entry.externalFileAttributes >>> 16) & fileTypeMask;
  const wanted = kind === 'file' ? regularFile : directory;
  if (type === 0o120000) return 'is a symbolic link';
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
