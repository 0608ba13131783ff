/** Reads files of lines in the folder of a session: at any place, and never through a link. */

import { closeSync, fstatSync } from 'node:fs';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { fillSync } from '@svc/kit/files/transfer-sync.ts';
import { LineCursor, maxLine } from './line-cursor.ts';

const lineFeed = 0x0a;
const firstRead = 16 * 1024;
/** Given of a line that is longer than any record. */
const beginningBytes = 64 * 1024;

/**
 * A regular file of the directory that belongs to `owner`, where that is known; null if no file has that name. `E-RUN-072` for a link,
 * for anything else that is no file, and for a file of another user.
 */
export function openOwn(directory: HeldDirectory, name: string, owner: number | null): number | null {
  const found = openIfThere(directory, name);
  if (found === null) return null;
  if (found.kind !== 'file') throw notOwn(`${name} is a ${found.kind}`.replace('other', 'special file'));
  const { uid } = fstatSync(found.fd);
  if (owner === null || uid === owner) return found.fd;
  closeSync(found.fd);
  throw notOwn(`${name} belongs to user ${uid}`);
}

/** `E-RUN-072`: what stands in the folder of a session is not what `svc` put there. */
export function notOwn(fault: string): Diagnostic {
  return new Diagnostic('E-RUN-072', `the folder of the session cannot be trusted: ${fault}`, {
    hint: 'svc reads only files that it wrote itself as this user: copy what you want to read into a folder of your own',
  });
}

function openIfThere(directory: HeldDirectory, name: string): ReturnType<HeldDirectory['openFile']> | null {
  try {
    return directory.openFile(name);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw ioFault(error, `cannot open ${name} of the session`);
  }
}

/** An open journal or trace. Reads throw `E-IO-001` for what the system refuses. The caller closes it. */
export class LineFile {
  readonly #fd: number;
  #bytesRead = 0;

  /** Takes over the descriptor. */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Bytes of the file now. */
  get size(): number {
    return fstatSync(this.#fd).size;
  }

  /** Says which file it is: one that takes its place under the same name says something else. */
  get identity(): string {
    const { dev, ino, birthtimeNs } = fstatSync(this.#fd, { bigint: true });
    return `${dev}:${ino}:${birthtimeNs}`;
  }

  /** How much was read so far. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** As much of `length` bytes from `offset` on as there is. */
  readAt(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, this.#readInto(bytes, offset));
  }

  /** The line that begins at `offset`, without its line feed; null when no line of a record's length ends. */
  lineAt(offset: number): Buffer | null {
    for (let length = firstRead; ; length = Math.min(length * 4, maxLine)) {
      const bytes = this.readAt(offset, length);
      const end = bytes.indexOf(lineFeed);
      if (end >= 0) return bytes.subarray(0, end);
      if (bytes.length < length || length >= maxLine) return null;
    }
  }

  /** The same lines as `lines`, for one who passes most of them. */
  walk(offset: number): LineCursor {
    return new LineCursor((bytes, at) => this.#readInto(bytes, at), offset);
  }

  /**
   * Whole lines from `offset` on, each with the byte that it begins at, as far as the last line feed there is. A buffer is good until the next
   * is asked for. Ends, with what is wrong as a clause, before a line that no record can be (`LineCursor`).
   */
  *lines(
    offset: number,
  ): Generator<{ readonly offset: number; readonly line: Buffer }, { readonly fault: string | null }> {
    const cursor = this.walk(offset);
    while (cursor.next()) yield { offset: cursor.offset, line: cursor.line };
    return { fault: cursor.fault };
  }

  /**
   * All lines of the file as far as the last line feed there is, with no more than 16 MiB of it in memory: of one that is longer than any record only the
   * first 64 KiB, with `isWhole` false; all that stands behind too many short lines (`LineCursor`) counts as one such line. A buffer is good until the
   * next is asked for.
   */
  *everyLine(): Generator<{ readonly line: Buffer; readonly isWhole: boolean }> {
    const cursor = this.walk(0);
    for (;;) {
      while (cursor.next()) yield { line: cursor.line, isWhole: true };
      if (cursor.isTooMany) yield { line: Buffer.alloc(0), isWhole: false };
      if (!cursor.isTooLong) return;
      const beginning = Buffer.from(cursor.bytes.subarray(cursor.start, cursor.start + beginningBytes));
      if (!cursor.skip()) return;
      yield { line: beginning, isWhole: false };
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Fills `bytes` from `offset` on as far as there is anything, and gives how many those were. */
  #readInto(bytes: Buffer, offset: number): number {
    try {
      const filled = fillSync(this.#fd, bytes, offset);
      this.#bytesRead += filled;
      return filled;
    } catch (error) {
      throw ioFault(error, 'cannot read the record of the session');
    }
  }
}
