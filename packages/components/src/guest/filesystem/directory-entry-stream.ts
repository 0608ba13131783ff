/** Lists a directory for a component, within the number of files and directories that it may hold open. */

import { opendirSync, type Dir, type Dirent } from 'node:fs';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { HostObject } from '../retained.ts';
import { attempt, refuse } from './error-code.ts';
import { descriptorType, type DescriptorType } from './file-stat.ts';

interface DirectoryEntry {
  readonly type: DescriptorType;
  readonly name: string;
}

/** `wasi:filesystem/types#directory-entry-stream`: read a little at a time, so that its size does not matter. */
export class DirectoryEntryStream extends HostObject {
  readonly #directory: Dir;
  readonly #budget: DescriptorBudget;

  constructor(hostPath: string, budget: DescriptorBudget) {
    budget.take();
    super();
    this.#budget = budget;
    try {
      this.#directory = opendirSync(hostPath, { encoding: 'buffer' as BufferEncoding });
    } catch (error) {
      super[Symbol.dispose]();
      budget.give();
      throw error;
    }
  }

  /** A name that is not UTF-8 ends the call with `illegal-byte-sequence`; the next call goes on after it. */
  readDirectoryEntry(): DirectoryEntry | undefined {
    const entry = attempt(() => this.#directory.readSync()) as Dirent<Buffer> | null;
    return entry === null
      ? undefined
      : { type: descriptorType(entry), name: decodeStrictUtf8(entry.name) ?? refuse('illegal-byte-sequence') };
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#directory.closeSync();
    this.#budget.give();
  }
}

const maxOpen = 512;

/** How many descriptors, streams and directory listings one instance may hold at a time. */
export class DescriptorBudget {
  #open = 0;

  /** Counts one more; past the limit the guest's call ends with `quota`. */
  take(): void {
    if (!this.has(1)) refuse('quota');
    this.#open += 1;
  }

  /** Whether so many more may be taken. */
  has(count: number): boolean {
    return this.#open + count <= maxOpen;
  }

  give(): void {
    this.#open -= 1;
  }
}
