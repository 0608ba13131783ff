/** Reads a file, and hashes exactly the bytes that are sent. */

import { closeSync } from 'node:fs';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { fillSync } from '@svc/kit/files/transfer-sync.ts';
import type { OpenedFile } from './export-root.ts';
import type { LargeContents } from './large-content.ts';
import type { FileContent } from './hashed-content.ts';

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
