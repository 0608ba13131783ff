import { open, unlink, type FileHandle } from 'node:fs/promises';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';

/** Makes nameless files in a directory that only `svc` writes to. */
export class Spool {
  readonly #directory: string;
  #made = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** A new, empty file for this process alone: its name is gone already, its bytes go when it is closed. */
  async create(): Promise<FileHandle> {
    for (;;) {
      this.#made += 1;
      const path = `${this.#directory}/spool-${this.#made}`;
      try {
        const file = await open(path, 'wx+', 0o600);
        await unlink(path);
        return file;
      } catch (error) {
        // Left behind by a process that was killed between the two calls.
        if (!isErrno(error, 'EEXIST')) throw error;
      }
    }
  }
}
