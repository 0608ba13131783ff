/** Packs files into an archive, the same bytes each time. */

import { createHash } from 'node:crypto';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { type Chunks, replaceFile } from '@svc/kit/files/replace-file.ts';
import { type ArchiveLimits, archiveLimits, entryNameFault, NameTable } from './archive-entry.ts';

export interface PackedFile {
  readonly name: string;
  readonly data: Buffer;
}

export interface WrittenArchive {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * The archive of these files, byte for byte the same wherever and whenever it is made: sorted by name, one fixed time, modes by
 * place, and stored without compression, because what deflate makes of the same bytes differs between versions of zlib.
 */
export function packArchive(
  files: readonly PackedFile[],
  limits: ArchiveLimits = archiveLimits,
): AsyncIterable<Buffer> {
  checkFiles(files, limits);
  return pack(files);
}

async function* pack(files: readonly PackedFile[]): AsyncGenerator<Buffer> {
  // Loaded when something is packed: every start would pay for it otherwise.
  const { ZipFile } = await import('yazl');
  const zip = new ZipFile();
  for (const file of [...files].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))) {
    zip.addBuffer(file.data, file.name, {
      compress: false,
      // Before the first date that a zip can hold, so that it becomes that date in every time zone.
      mtime: new Date(0),
      forceDosTimestamp: true,
      mode: file.name.startsWith('bin/') ? 0o100755 : 0o100644,
    });
  }
  zip.end();
  yield* zip.outputStream as unknown as AsyncIterable<Buffer>;
}

/** SHA-256 of the archive that these files make, in lowercase hex; nothing is written. */
export async function hashOfArchive(files: readonly PackedFile[]): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of packArchive(files)) hash.update(chunk);
  return hash.digest('hex');
}

/** Writes the archive as a whole or not at all; `E-IO-001` when it cannot be written. */
export async function writeArchive(path: string, files: readonly PackedFile[]): Promise<WrittenArchive> {
  const hash = createHash('sha256');
  let bytes = 0;
  await replaceFile(
    path,
    tap(packArchive(files), (chunk) => {
      hash.update(chunk);
      bytes += chunk.length;
    }),
  );
  return { path, sha256: hash.digest('hex'), bytes };
}

/** Passes chunks on unchanged and shows each to `see` first. */
export async function* tap(chunks: Chunks, see: (chunk: Uint8Array) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    see(chunk);
    yield chunk;
  }
}

function checkFiles(files: readonly PackedFile[], limits: ArchiveLimits): void {
  const names = new NameTable();
  for (const { name } of files) {
    const fault = entryNameFault(name) ?? names.add(name, 'file');
    if (fault !== null) throw new Diagnostic('E-ART-002', `the file ${quoted(name)} ${fault}`);
  }
  const total = files.reduce((sum, file) => sum + file.data.length, 0);
  if (total > limits.maxUnpackedBytes) {
    throw new Diagnostic('E-ART-003', `the files are larger than ${limits.maxUnpackedBytes} bytes together`);
  }
  if (files.length > limits.maxEntries) {
    throw new Diagnostic('E-ART-003', `the files are more than ${limits.maxEntries}`);
  }
}
