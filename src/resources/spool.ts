import { open, unlink } from 'node:fs';
import { promisify } from 'node:util';

import { isErrno } from '../store/io-fault.ts';

const openFile = promisify(open);
const removeName = promisify(unlink);

/** Makes nameless files in a directory that only `svc` writes to. */
export class Spool {
  readonly #directory: string;
  #made = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** A new, empty file for this process alone: its name is gone already, its bytes go when the descriptor is closed. */
  async create(): Promise<number> {
    for (;;) {
      this.#made += 1;
      const path = `${this.#directory}/spool-${this.#made}`;
      try {
        const descriptor = await openFile(path, 'wx+', 0o600);
        await removeName(path);
        return descriptor;
      } catch (error) {
        // Left behind by a process that was killed between the two calls.
        if (!isErrno(error, 'EEXIST')) throw error;
      }
    }
  }
}
