import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type Archive, readArchive } from './archive.ts';
import type { Chunks } from '@svc/kit/files/replace-file.ts';
import { chunksOfFile, RegularFile } from '@svc/kit/files/regular-file.ts';

/** An archive by path and hash. It is open only while it is read, and hashed again only when the file is another one. */
export class ArchivedFiles {
  readonly #path: string;
  readonly #sha256: string;
  #verified: string | null;

  /** `verified`: the identity of the file whose bytes have been found to have the hash; null when none has been. */
  constructor(path: string, sha256: string, verified: string | null) {
    this.#path = path;
    this.#sha256 = sha256;
    this.#verified = verified;
  }

  /** One file; `E-ART-006` when the archive no longer has the hash. */
  async read(name: string): Promise<Buffer> {
    return await this.use(async (archive) => await archive.read(name));
  }

  /** Runs `body` with the archive open and verified. */
  async use<T>(body: (archive: Archive) => Promise<T>): Promise<T> {
    const file = await RegularFile.open(this.#path);
    try {
      if (file.identity !== this.#verified) await this.#verify(file);
      return await body(await readArchive(file));
    } finally {
      await file.close();
    }
  }

  chunks(): Chunks {
    return chunksOfFile(this.#path);
  }

  async #verify(file: RegularFile): Promise<void> {
    if ((await file.sha256()) !== this.#sha256) {
      throw new Diagnostic('E-ART-006', `${this.#path} does not have the hash ${this.#sha256} that it had before`, {
        hint: 'run the command again; if it stays, install the artifact again',
      });
    }
    this.#verified = file.identity;
  }
}
