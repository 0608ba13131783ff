import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { ioFault } from './io-fault.ts';
import { makeDirectories } from './make-directories.ts';
import { temporaryName } from './temporary-name.ts';

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Brings a new file with a temporary name in `directory` to the disk; returns its path. On failure nothing is left behind. */
export async function writeTemporary(directory: string, chunks: Chunks, mode = 0o644): Promise<string> {
  const temporary = join(directory, temporaryName());
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      for await (const chunk of chunks) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    return temporary;
  } catch (error) {
    await rm(temporary, { force: true });
    throw ioFault(error, `cannot write to ${directory}`);
  }
}

/** Replaces `path` as a whole: after a crash at any moment it is the old file or the new one. `E-IO-001` when it cannot be written. */
export async function writeDurably(path: string, chunks: Chunks, mode?: number): Promise<void> {
  const directory = dirname(path);
  await makeDirectory(directory);
  const temporary = await writeTemporary(directory, chunks, mode);
  try {
    await rename(temporary, path);
    await syncDirectory(directory);
  } catch (error) {
    await rm(temporary, { force: true });
    throw ioFault(error, `cannot write ${path}`);
  }
}

/** Brings the names in a directory to the disk. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Makes the directory and those above it, all with this mode. `E-IO-001` when it cannot be made. */
export async function makeDirectory(path: string, mode?: number): Promise<void> {
  try {
    makeDirectories(path, mode);
  } catch (error) {
    throw ioFault(error, `cannot make the directory ${path}`);
  }
}
