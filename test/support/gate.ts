/** Lets a command and a test wait for each other. */

import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Two pipes in a workdir, through which a command and a test wait for each other: `command` says that it runs and then
 * stays until the test releases it.
 */
export class Gate {
  static readonly command = 'echo here > arrived; cat leave';
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    execFileSync('mkfifo', [join(folder, 'arrived'), join(folder, 'leave')]);
  }

  /** Resolves once the command runs. */
  async reached(): Promise<void> {
    await readFile(join(this.#folder, 'arrived'));
  }

  /** Lets the command go on; it prints `word`. */
  async open(word: string): Promise<void> {
    await writeFile(join(this.#folder, 'leave'), word);
  }
}
