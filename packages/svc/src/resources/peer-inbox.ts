import { closeSync, fsync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { createTemporaryIn, moveInto, openAgentDirectory, type OpenPath } from '@svc/kit/files/agent-directory.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { writeAll } from '@svc/kit/files/descriptor-io.ts';

const sync = promisify(fsync);

/** Where fetched files are kept, below the accessible workdir (D3 "Agent tools"). */
export const inboxDirectory = 'peer-in';

/**
 * A file on its way into `peer-in/`: under a temporary name until it is whole, through no link that the agent planted. All methods throw, or
 * reject with, the system's errors. `discard` is always called last.
 */
export class IncomingFile {
  readonly #base: HeldDirectory;
  readonly #file: OpenPath;
  readonly #name: string;
  #isKept = false;

  /** `name` is the one it is to get. */
  constructor(workdir: string, name: string) {
    this.#name = name;
    this.#base = openAgentDirectory(workdir, inboxDirectory);
    try {
      // Short, so that it fits wherever the name itself does.
      this.#file = createTemporaryIn(this.#base, name.slice(0, 16));
    } catch (error) {
      this.#base.close();
      throw error;
    }
  }

  async write(bytes: Buffer): Promise<void> {
    await writeAll(this.#file.fd, bytes);
  }

  /** Gives the file its name; one that was fetched with the same handle before gives way. */
  async keep(): Promise<void> {
    await sync(this.#file.fd);
    moveInto(this.#file.path, join(this.#base.path, this.#name));
    this.#isKept = true;
  }

  /** Closes the file, and removes it unless it was kept. */
  discard(): void {
    closeSync(this.#file.fd);
    try {
      if (!this.#isKept) unlinkSync(this.#file.path);
    } catch (error) {
      // The agent was faster.
      if (!isErrno(error, 'ENOENT')) throw error;
    } finally {
      this.#base.close();
    }
  }
}
