/** Replaces files as a whole: what is new gets a temporary name beside the old file, and takes its place once it is whole. */

import { closeSync, fsync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { isErrno } from '../diagnostics/system-reason.ts';
import { writeAll } from './read-up-to.ts';
import { ioFault } from './io-fault.ts';
import { makeDirectory } from './make-directories.ts';
import { temporaryName } from './temporary-name.ts';
import { unlessRefused } from './unless-refused.ts';

const sync = promisify(fsync);

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

interface ReplaceOptions {
  /** Before the umask; 0o644 when absent. */
  readonly mode?: number;
  /** False for what may be lost when the power fails: nothing waits for the disk then. */
  readonly isDurable?: boolean;
}

/** A new file under a temporary name, open for writing. Throws system errors. The caller closes it, which removes it unless it was kept. */
export class TemporaryFile {
  readonly path: string;
  readonly fd: number;
  #isOpen = true;
  #isKept = false;

  constructor(directory: string, mode = 0o644) {
    this.path = join(directory, temporaryName());
    this.fd = openSync(this.path, 'wx', mode);
  }

  /** Ends the writing, and gives the file its place, in one step; one that is there gives way. */
  keepAs(path: string): void {
    this.#release();
    renameSync(this.path, path);
    this.#isKept = true;
  }

  /** The same where nothing has the name; `EEXIST` where something has. */
  keepAsNew(path: string): void {
    this.#release();
    try {
      linkSync(this.path, path);
    } catch (error) {
      // A file system without links: the name is taken first, by a file that gives way.
      if (!isErrno(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP')) throw error;
      closeSync(openSync(path, 'wx'));
      this.keepAs(path);
    }
  }

  close(): void {
    try {
      this.#release();
    } finally {
      // Kept, the name is free again, and what comes to be there is not ours.
      if (!this.#isKept) rmSync(this.path, { force: true });
    }
  }

  #release(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.fd);
  }
}

/**
 * Replaces `path`: after a crash at any moment it is the old file or the new one. The directory is there already. Throws the refusal of the
 * operating system; the old file is left then, and nothing beside it. Where the system refuses only the last step, which brings the name to the disk,
 * the new file is there, and a crash may still bring back the old one.
 */
export function replaceFileSync(
  path: string,
  bytes: Uint8Array,
  { mode, isDurable = true }: ReplaceOptions = {},
): void {
  const file = new TemporaryFile(dirname(path), mode);
  try {
    writeFileSync(file.fd, bytes);
    if (isDurable) fsyncSync(file.fd);
    file.keepAs(path);
  } finally {
    file.close();
  }
  if (isDurable) syncDirectorySync(dirname(path));
}

/**
 * Writes a file where none is: after a crash at any moment it is whole or not there. Throws the refusal of the operating system, `EEXIST` where one is;
 * nothing is left then, unless it was the last step that was refused, as in `replaceFileSync`.
 */
export function writeNewFileSync(path: string, bytes: Uint8Array, mode?: number): void {
  const file = new TemporaryFile(dirname(path), mode);
  try {
    writeFileSync(file.fd, bytes);
    fsyncSync(file.fd);
    file.keepAsNew(path);
  } finally {
    file.close();
  }
  syncDirectorySync(dirname(path));
}

/**
 * The same without keeping the thread waiting for the disk, and with the directory made where it is missing; `E-IO-001` for a refusal, and for a
 * device, a pipe or a socket, which others use by its name: no file takes its place.
 */
export async function replaceFile(path: string, chunks: Chunks, options: ReplaceOptions = {}): Promise<void> {
  const directory = dirname(path);
  const there = unlessRefused(() => statSync(path), null);
  if (there !== null && !there.isFile() && !there.isDirectory())
    throw new Diagnostic('E-IO-001', `cannot write ${path}: it is a device, a pipe or a socket`);
  await makeDirectory(directory);
  const file = await writeTemporary(directory, chunks, options);
  try {
    file.keepAs(path);
    if (options.isDurable ?? true) await syncDirectory(directory);
  } catch (error) {
    throw ioFault(error, `cannot write ${path}`);
  } finally {
    file.close();
  }
}

/** A new file in `directory` with all the bytes, on the disk unless `isDurable` is false. `E-IO-001` for a refusal, and nothing is left then. */
export async function writeTemporary(
  directory: string,
  chunks: Chunks,
  { mode, isDurable = true }: ReplaceOptions = {},
): Promise<TemporaryFile> {
  let file: TemporaryFile | undefined;
  try {
    file = new TemporaryFile(directory, mode);
    for await (const chunk of chunks) await writeAll(file.fd, chunk);
    if (isDurable) await sync(file.fd);
    return file;
  } catch (error) {
    file?.close();
    throw ioFault(error, `cannot write to ${directory}`);
  }
}

/** Brings the names in a directory to the disk; a thread is for that alone. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = openSync(path, 'r');
  try {
    await sync(directory);
  } finally {
    closeSync(directory);
  }
}

function syncDirectorySync(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
