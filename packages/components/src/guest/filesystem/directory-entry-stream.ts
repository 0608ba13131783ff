import { opendirSync, type Dir, type Dirent } from 'node:fs';

import { HostObject } from '../retained.ts';
import type { DescriptorBudget } from './descriptor-budget.ts';
import { attempt, refuse } from './error-code.ts';
import { descriptorType, type DescriptorType } from './file-stat.ts';

interface DirectoryEntry {
  readonly type: DescriptorType;
  readonly name: string;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

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
    return entry === null ? undefined : { type: descriptorType(entry), name: decodeName(entry.name) };
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#directory.closeSync();
    this.#budget.give();
  }
}

function decodeName(name: Buffer): string {
  try {
    return decoder.decode(name);
  } catch (error) {
    if (error instanceof TypeError) return refuse('illegal-byte-sequence');
    throw error;
  }
}
