/** Keeps bodies that are being received until they are published or refused. */

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories, makeDirectory } from '@svc/kit/files/make-directories.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { archiveFile } from './file-store.ts';
import type { StagedArchive } from './object-store.ts';

/** Written at once, while as much again is being received. */
const writeBytes = 256 * 1024;

/** Written at once too, whatever their size: each takes hundreds of bytes of memory beside what it holds. */
const writeChunks = 1024;

/** Nothing is staged for longer: who sends a body slower than this is dropped long before. */
const leftoverAgeMs = 24 * 60 * 60 * 1000;

/**
 * Where bodies are received before they are an artifact. Each server has a directory of its own there, named after the address it is bound
 * to: whatever an earlier run under that name has left belongs to nobody.
 */
export class StagingArea {
  readonly #root: string;
  readonly #run = Buffer.from(systemClock.randomBytes(6)).toString('hex');
  #own: string;
  #count = 0;

  private constructor(root: string) {
    this.#root = root;
    this.#own = join(root, this.#run);
  }

  /** `E-IO-001` when the directory cannot be made. */
  static async open(data: string): Promise<StagingArea> {
    const root = join(data, 'staging');
    await makeDirectory(root);
    return new StagingArea(root);
  }

  /**
   * Takes the name that no other live server has, before anything is staged, and removes what an earlier owner of it left, as well as
   * what anybody left a day ago; ages follow the clock of the file system itself.
   */
  async claim(owner: string): Promise<void> {
    this.#own = join(this.#root, owner.replaceAll(/[^0-9A-Za-z.]/g, '_'));
    try {
      makeDirectories(this.#own);
      for (const name of await readdir(this.#own)) {
        if (!name.startsWith(this.#run)) await rm(join(this.#own, name), { recursive: true, force: true });
      }
      await this.#sweepOld();
    } catch (error) {
      throw ioFault(error, `cannot clean ${this.#root}`);
    }
  }

  /**
   * Writes a body to a file, hashing it on the way; to bring it to the disk is up to the store that takes it. What the body throws is
   * thrown on, `E-IO-001` when it cannot be written; nothing is left behind then. The caller discards the archive.
   */
  async receive(body: AsyncIterable<Buffer>): Promise<StagedArchive> {
    this.#count += 1;
    const directory = join(this.#own, `${this.#run}-${this.#count}`);
    const path = join(directory, archiveFile);
    try {
      makeDirectories(directory);
      return { directory, path, ...(await writeHashed(path, body)) };
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw ioFault(error, `cannot write to ${this.#own}`);
    }
  }

  /** Closes a staged archive and removes what is left of it; harmless when a store has taken it. */
  async discard({ directory, file }: StagedArchive): Promise<void> {
    await file.close();
    if (existsSync(directory)) await rm(directory, { recursive: true, force: true });
  }

  async #sweepOld(): Promise<void> {
    const now = await this.#fileSystemTime();
    for (const owner of await readdir(this.#root)) {
      for (const name of await namesIn(join(this.#root, owner))) {
        const path = join(this.#root, owner, name);
        if (now - (await lastChange(path)) > leftoverAgeMs) await rm(path, { recursive: true, force: true });
      }
    }
  }

  /** 0 on a disk that is full, so that nothing is old: a server starts on one, to serve what it has. */
  async #fileSystemTime(): Promise<number> {
    const probe = join(this.#own, `${this.#run}-probe`);
    try {
      await mkdir(probe);
      return (await stat(probe)).mtimeMs;
    } catch (error) {
      if (isErrno(error, 'ENOSPC', 'EDQUOT')) return 0;
      throw error;
    } finally {
      await rm(probe, { recursive: true, force: true });
    }
  }
}

type WrittenFile = Pick<StagedArchive, 'file' | 'bytes' | 'sha256'>;

/** The file is left open for those who read and sync it. */
async function writeHashed(path: string, body: AsyncIterable<Buffer>): Promise<WrittenFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'wx+', 0o644);
  let writing = Promise.resolve();
  try {
    let gathered: Buffer[] = [];
    let gatheredBytes = 0;
    for await (const chunk of body) {
      hash.update(chunk);
      bytes += chunk.length;
      gathered.push(chunk);
      gatheredBytes += chunk.length;
      if (gatheredBytes < writeBytes && gathered.length < writeChunks) continue;
      await writing;
      writing = writeAll(file, gathered);
      // Its failure is met by the next who waits for it.
      writing.catch(() => {});
      gathered = [];
      gatheredBytes = 0;
    }
    await writing;
    await writeAll(file, gathered);
    return { file, bytes, sha256: hash.digest('hex') };
  } catch (error) {
    await writing.catch(() => {});
    await file.close();
    throw error;
  }
}

function lengthOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

async function writeAll(file: FileHandle, chunks: readonly Buffer[]): Promise<void> {
  if (chunks.length === 0) return;
  const { bytesWritten } = await file.writev(chunks);
  // A disk that is nearly full takes a part; writing the rest says why.
  if (bytesWritten < lengthOf(chunks)) await file.writeFile(Buffer.concat(chunks).subarray(bytesWritten));
}

async function namesIn(directory: string): Promise<string[]> {
  return await readdir(directory).catch((error: unknown) => {
    if (isErrno(error, 'ENOTDIR', 'ENOENT')) return [];
    throw error;
  });
}

/** When a staged directory, or the archive that is being written in it, was last changed; 0 when its owner has just removed it. */
async function lastChange(directory: string): Promise<number> {
  const times = await Promise.all(
    [directory, join(directory, archiveFile)].map(async (path) => {
      const found = await stat(path).catch((error: unknown) => {
        if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
        throw error;
      });
      return found?.mtimeMs ?? 0;
    }),
  );
  return Math.max(...times);
}
