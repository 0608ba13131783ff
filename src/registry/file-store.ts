import { constants } from 'node:fs';
import { open, readdir, readFile, rename, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

import { makeDirectory, syncDirectory } from '../store/durable-file.ts';
import { ioFault, isErrno } from '../store/io-fault.ts';
import { objectKeyShape, type ByteSpan, type NewObject, type ObjectStore } from './object-store.ts';

export const archiveFile = 'archive.zip';
const recordFile = 'record.json';
const readBytes = 256 * 1024;

/**
 * Objects as directories, `objects/<key>/` with the archive and the record in it. A directory that holds both is made elsewhere on the same
 * file system and renamed into place: a rename never replaces a directory that is not empty, so it is the commit, for any number of
 * servers on one directory.
 */
export class FileStore implements ObjectStore {
  readonly #objects: string;

  private constructor(objects: string) {
    this.#objects = objects;
  }

  /** `E-IO-001` when the directory cannot be made. */
  static async open(root: string): Promise<FileStore> {
    const objects = join(root, 'objects');
    await makeDirectory(objects);
    await syncDirectory(root);
    return new FileStore(objects);
  }

  async put(key: string, { record, archive }: NewObject): Promise<'stored' | 'taken'> {
    try {
      await writeSynced(join(archive.directory, recordFile), record);
      await syncDirectory(archive.directory);
      await rename(archive.directory, this.#directory(key));
      await syncDirectory(this.#objects);
      return 'stored';
    } catch (error) {
      if (isErrno(error, 'ENOTEMPTY', 'EEXIST')) return 'taken';
      throw ioFault(error, `cannot write to ${this.#objects}`);
    }
  }

  async readRecord(key: string): Promise<string | null> {
    try {
      return await readFile(join(this.#directory(key), recordFile), 'utf8');
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
      throw ioFault(error, `cannot read the record of ${key}`);
    }
  }

  async openArchive(key: string, span?: ByteSpan): Promise<Readable | null> {
    let file: FileHandle;
    try {
      file = await open(join(this.#directory(key), archiveFile), constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
      throw ioFault(error, `cannot read the archive of ${key}`);
    }
    const part = span === undefined ? {} : { start: span.first, end: span.last };
    return file.createReadStream({ highWaterMark: readBytes, ...part });
  }

  async listKeys(): Promise<readonly string[]> {
    try {
      return (await readdir(this.#objects)).filter((name) => objectKeyShape.test(name));
    } catch (error) {
      throw ioFault(error, `cannot list ${this.#objects}`);
    }
  }

  #directory(key: string): string {
    // It becomes a path: whoever made it has to have checked what it is made of.
    if (!objectKeyShape.test(key)) throw new Error('the key of an object was not checked');
    return join(this.#objects, key);
  }
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o644);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
