/** Stores archives and records in directories of this machine. */

import { existsSync, fstatSync, statSync } from 'node:fs';
import { open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { readFlags } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { syncDirectory, writeTemporary } from '@svc/kit/files/replace-file.ts';
import { placeFolder } from '@svc/kit/files/scratch-folder.ts';
import { isTemporaryName } from '@svc/kit/files/temporary-name.ts';
import {
  checkedKey,
  objectKeyShape,
  type ByteSpan,
  type NewObject,
  type ObjectStore,
  type OpenedFile,
  type StagedArchive,
} from './object-store.ts';
import { FileSignatures } from './signature-store.ts';

export const archiveFile = 'archive.zip';
const recordFile = 'record.json';

/**
 * Objects as directories, `objects/<key>/` with the archive and the record in it. A directory that holds both is made elsewhere on the same
 * file system and renamed into place: a rename never replaces a directory that is not empty, so it is the commit, for any number of
 * servers on one directory.
 */
export class FileStore implements ObjectStore {
  readonly signatures: FileSignatures;
  readonly #objects: string;
  readonly #states: string;

  private constructor(root: string) {
    this.signatures = new FileSignatures(root);
    this.#objects = join(root, 'objects');
    this.#states = join(root, 'states');
  }

  /** `E-IO-001` when the directory cannot be made. */
  static async open(root: string): Promise<FileStore> {
    const store = new FileStore(root);
    const changed = parentsUntilThere(store.#objects);
    await makeDirectory(store.#objects);
    await makeDirectory(store.#states);
    for (const directory of changed) await syncDirectory(directory);
    await sweepStates(store.#states);
    return store;
  }

  async put(key: string, { record, archive }: NewObject): Promise<'stored' | 'taken'> {
    try {
      await bringToDisk(archive, record);
      if (!(await placeFolder(archive.directory, this.#directory(key)))) return 'taken';
      await syncDirectory(this.#objects);
      return 'stored';
    } catch (error) {
      throw ioFault(error, `cannot write to ${this.#objects}`);
    }
  }

  async readRecord(key: string): Promise<string | null> {
    const directory = this.#directory(key);
    try {
      // Each publish asks for the record that it is about to write. `statSync` finds it absent without a thread.
      if (statSync(directory, { throwIfNoEntry: false }) === undefined) return null;
      return await readFile(join(directory, recordFile), 'utf8');
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
      throw ioFault(error, `cannot read the record of ${key}`);
    }
  }

  async openArchive(key: string, span?: ByteSpan): Promise<OpenedFile | null> {
    try {
      const file = await open(join(this.#directory(key), archiveFile), readFlags);
      if (fstatSync(file.fd).isFile()) return { file, start: span?.first ?? 0 };
      await file.close();
      throw new Diagnostic('E-IO-001', `cannot read the archive of ${key}: it is not a regular file`);
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
      throw ioFault(error, `cannot read the archive of ${key}`);
    }
  }

  async listKeys(): Promise<readonly string[]> {
    try {
      return (await readdir(this.#objects)).filter((name) => objectKeyShape.test(name));
    } catch (error) {
      throw ioFault(error, `cannot list ${this.#objects}`);
    }
  }

  async putState(key: string, text: string): Promise<'stored' | 'taken'> {
    const file = await writeTemporary(this.#states, [Buffer.from(text)]);
    try {
      file.keepAsNew(join(this.#states, checkedKey(key)));
      await syncDirectory(this.#states);
      return 'stored';
    } catch (error) {
      if (isErrno(error, 'EEXIST')) return 'taken';
      throw ioFault(error, `cannot write to ${this.#states}`);
    } finally {
      file.close();
    }
  }

  async readState(key: string): Promise<string | null> {
    const path = join(this.#states, checkedKey(key));
    try {
      // Each download asks for a state that is usually absent, which `statSync` finds without a thread.
      if (statSync(path, { throwIfNoEntry: false }) === undefined) return null;
      return await readFile(path, 'utf8');
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return null;
      throw ioFault(error, `cannot read the state ${key}`);
    }
  }

  async listStateKeys(): Promise<readonly string[]> {
    try {
      return (await readdir(this.#states)).filter((name) => objectKeyShape.test(name));
    } catch (error) {
      throw ioFault(error, `cannot list ${this.#states}`);
    }
  }

  #directory(key: string): string {
    return join(this.#objects, checkedKey(key));
  }
}

const leftoverAgeMs = 24 * 60 * 60_000;

/** Removes what servers that were killed have left; ages follow the clock of the file system itself. */
async function sweepStates(states: string): Promise<void> {
  const { mtimeMs: now } = await stat(states);
  for (const name of (await readdir(states)).filter(isTemporaryName)) {
    const path = join(states, name);
    const { mtimeMs = now } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (now - mtimeMs > leftoverAgeMs) await rm(path, { force: true });
  }
}

/** The directories that get a name when `path` is made: the one above it, and on up to the first that is there already. */
export function parentsUntilThere(path: string): string[] {
  const parent = dirname(path);
  return existsSync(parent) ? [parent] : [parent, ...parentsUntilThere(parent)];
}

/** Writes the record, and has it, the archive and their names synced at once: one commit of the file system instead of three. */
async function bringToDisk({ directory, file }: StagedArchive, text: string): Promise<void> {
  const record = await open(join(directory, recordFile), 'w', 0o644);
  try {
    await record.writeFile(text);
    const outcomes = await Promise.allSettled([file.sync(), record.sync(), syncDirectory(directory)]);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  } finally {
    await record.close();
  }
}
