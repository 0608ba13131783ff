/** Reads a file, and hashes exactly the bytes that are sent. */

import { closeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { fillSync } from '@svc/kit/files/transfer-sync.ts';
import type { OpenedFile } from './export-root.ts';
import type { LargeContents } from './large-content.ts';

/** The bytes of one reading of a file, and the hash of exactly these bytes. */
export interface FileContent {
  readonly sha256: string;
  readonly length: number;
  /** Bytes, or a file that begins with them; its holder closes it. */
  readonly body: Buffer | FileHandle;
  /** To be called once nobody needs the bytes any more; `isFree` when nobody will even look at them. */
  readonly onDone?: (isFree: boolean) => void;
}

/** A read that this program did not begin, or did not go on with. It has a code, as errors of the system have: it is no bug. */
export class UnfinishedRead extends Error {
  readonly code: 'EDQUOT' | 'ECANCELED';

  constructor(code: 'EDQUOT' | 'ECANCELED', message: string) {
    super(message);
    this.code = code;
  }
}

/** Throws `UnfinishedRead` for work whose answer nobody waits for any more. */
export function demandAwaited(isAwaited: () => boolean): void {
  if (!isAwaited()) throw new UnfinishedRead('ECANCELED', 'nobody waits for the answer');
}

/** Up to here a file is read and hashed at once: handing it to another thread would cost more. */
export const smallFileBytes = 64 * 1024;

/** Reads files whose hash has to be known before their first byte is sent. A file is read once, up to the size it had when it was opened. */
export class FileContents {
  readonly #spoolDirectory: string;
  #large: Promise<LargeContents> | null = null;

  /** `spoolDirectory` is one that only `svc` writes to. */
  constructor(spoolDirectory: string) {
    this.#spoolDirectory = spoolDirectory;
  }

  /** Closes the descriptor of `file`. Throws, or rejects with, the system's errors. */
  read(file: OpenedFile): FileContent | Promise<FileContent> {
    return file.size <= smallFileBytes ? readAtOnce(file) : this.#readLarge(file);
  }

  async #readLarge(file: OpenedFile): Promise<FileContent> {
    this.#large ??= import('./large-content.ts').then(
      ({ LargeContents, Spool }) => new LargeContents(new Spool(this.#spoolDirectory)),
    );
    return (await this.#large).read(file);
  }
}

/** Reads and hashes a small file in one go, and closes it. */
export function readAtOnce({ descriptor, size }: OpenedFile): FileContent & { readonly body: Buffer } {
  try {
    const bytes = Buffer.allocUnsafe(size);
    const length = fillSync(descriptor, bytes, 0);
    const body = bytes.subarray(0, length);
    return { sha256: sha256Hex(body), length, body };
  } finally {
    closeSync(descriptor);
  }
}
