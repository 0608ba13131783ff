/** Looks at the files of this machine, and reads pieces of them within bounds. */

import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

/** What stands at a path; a link is not followed. */
export interface FileEntry {
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  /** Some executable bit is set. */
  readonly executable: boolean;
}

/** A regular file, open for reading. Whoever opened it closes it. */
export interface OpenedFile {
  /** Changes whenever the file may have changed: device, inode, size and both times. */
  readonly identity: string;
  readonly size: number;
  /** Up to `length` bytes from `offset`; fewer at the end of the file or where it cannot be read. */
  read(offset: number, length: number): Buffer;
  close(): void;
}

/**
 * The file system as far as the search for a program's files looks at it. Paths are absolute. Whatever cannot be looked
 * at, for any reason, is null: to the program it will not be there either.
 */
export interface FileHost {
  look(path: string): FileEntry | null;
  linkTarget(path: string): string | null;
  /** Names in a directory, in no order. */
  list(path: string): readonly string[] | null;
  /** Those of them that are directories or links, which may lead to one: what does not have to be looked at each. */
  listBranches(path: string): readonly string[] | null;
  /** Null for everything but a regular file; never waits, whatever stands there. */
  open(path: string): OpenedFile | null;
}

/** This machine's files. */
export const systemFiles: FileHost = {
  look: (path) =>
    unlessRefused(() => {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found === undefined) return null;
      const executable = (found.mode & 0o111) !== 0;
      if (found.isFile()) return { kind: 'file', executable };
      if (found.isDirectory()) return { kind: 'directory', executable };
      return { kind: found.isSymbolicLink() ? 'link' : 'other', executable };
    }, null),
  linkTarget: (path) => unlessRefused(() => readlinkSync(path), null),
  list: (path) => unlessRefused(() => readdirSync(path), null),
  listBranches: (path) =>
    unlessRefused(
      () =>
        readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
          entry.isDirectory() || entry.isSymbolicLink() ? [entry.name] : [],
        ),
      null,
    ),
  open: (path) => unlessRefused(() => openRegularFile(path), null),
};

function openRegularFile(path: string): OpenedFile | null {
  // Without O_NONBLOCK a FIFO under a library's name would hold us for ever.
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  const found = fstatSync(descriptor, { bigint: true });
  if (!found.isFile()) {
    closeSync(descriptor);
    return null;
  }
  return {
    identity: [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':'),
    size: Number(found.size),
    read: (offset, length) => readFully(descriptor, offset, length),
    close: () => closeSync(descriptor),
  };
}

function readFully(descriptor: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = unlessRefused(() => readSync(descriptor, bytes, filled, length - filled, offset + filled), 0);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

const blockSize = 4096;

/** No more of one file is ever read or kept than this. */
export const maxBytesRead: number = 512 * blockSize;

/**
 * Reads pieces of a file whose own numbers say where they are. A piece that is not wholly inside the file, or past what
 * may be read of one file, is null; blocks are read once.
 */
export class BoundedBytes {
  readonly #file: OpenedFile;
  readonly #blocks = new Map<number, Buffer>();

  constructor(file: OpenedFile) {
    this.#file = file;
  }

  /** Exactly `length` bytes from `offset`. */
  piece(offset: number, length: number): Buffer | null {
    if (!Number.isSafeInteger(offset) || offset < 0 || length < 0 || offset + length > this.#file.size) return null;
    const first = Math.floor(offset / blockSize);
    const last = Math.floor((offset + Math.max(length, 1) - 1) / blockSize);
    if (last - first >= maxBytesRead / blockSize) return null;
    const blocks: Buffer[] = [];
    for (let index = first; index <= last; index += 1) {
      const block = this.#block(index);
      if (block === null) return null;
      blocks.push(block);
    }
    const [only] = blocks;
    const joined = blocks.length === 1 && only !== undefined ? only : Buffer.concat(blocks);
    const start = offset - first * blockSize;
    // Shorter when the file was cut while we read it.
    return joined.length < start + length ? null : joined.subarray(start, start + length);
  }

  /** The text from `offset` to a NUL, which has to come within `maxLength` bytes. */
  text(offset: number, maxLength: number): string | null {
    const end = Math.min(offset + maxLength, this.#file.size);
    for (let length = Math.min(256, end - offset); length > 0; length = Math.min(length * 8, end - offset)) {
      const piece = this.piece(offset, length);
      if (piece === null) return null;
      const stop = piece.indexOf(0);
      if (stop !== -1) return piece.toString('utf8', 0, stop);
      if (length === end - offset) return null;
    }
    return null;
  }

  #block(index: number): Buffer | null {
    const kept = this.#blocks.get(index);
    if (kept !== undefined) return kept;
    if (this.#blocks.size >= maxBytesRead / blockSize) return null;
    const block = this.#file.read(index * blockSize, blockSize);
    this.#blocks.set(index, block);
    return block;
  }
}
