/** Reads a compiled component from the disk: its own file, and the parts that this file leaves in the archive beside it. */

import { open, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { type ArchiveSlice, openTranspiled, type TranspiledComponent } from './transpiled-component.ts';

const nothing = new Uint8Array();

/** Returns null if it is missing, belongs to another component than `componentSha256`, or if the file or the archive has changed. */
export async function readTranspiled(
  path: string,
  componentSha256: string | null,
): Promise<TranspiledComponent | null> {
  const file = await readOrNull(path);
  const opened = file === null ? null : openTranspiled(file);
  if (opened === null) return null;
  if (componentSha256 !== null && opened.component.componentSha256 !== componentSha256) return null;
  const { slice } = opened;
  const elsewhere = slice === null ? nothing : await readSlice(join(path, '..', '..', basename(slice.archive)), slice);
  return elsewhere === null ? null : opened.with(elsewhere);
}

/** Returns null when the system does not give the file, whatever its reason. */
export async function readOrNull(path: string): Promise<Buffer | null> {
  return await unlessFails(async () => await readFile(path));
}

/** Shorter when the archive ends before. */
async function readSlice(path: string, { from, to }: ArchiveSlice): Promise<Buffer | null> {
  return await unlessFails(async () => {
    const file = await open(path);
    try {
      const bytes = Buffer.allocUnsafe(to - from);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
      return bytes.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  });
}

async function unlessFails(read: () => Promise<Buffer>): Promise<Buffer | null> {
  try {
    return await read();
  } catch (error) {
    if (isSystemError(error)) return null;
    throw error;
  }
}
