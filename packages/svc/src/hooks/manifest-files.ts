/** Writes the files that hooks put beside the trace. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import type { NameTable } from '@svc/artifacts/store/archive-entry.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import type { ManifestFile } from './wit-hook.ts';

/** Of all hooks of a session. */
const mostFiles = 256;

/** The files that hooks write at on-stage: `manifests/` of the session directory, owner-only, out of the agent's reach. */
export class ManifestFiles {
  readonly #directory: string;
  #names: NameTable | null = null;
  #count = 0;

  constructor(sessionDirectory: string) {
    this.#directory = join(sessionDirectory, 'manifests');
  }

  /**
   * Writes what one hook commits, every file whole. Gives why not: for a name with a directory part, one that is there already or
   * too many files nothing was written, for a full disk perhaps the first of them.
   */
  async write(files: readonly ManifestFile[]): Promise<string | null> {
    if (this.#count + files.length > mostFiles) return `write-manifests: a session has at most ${mostFiles} such files`;
    // Few capsules have a hook that writes any.
    const { entryNameFault, NameTable } = await import('@svc/artifacts/store/archive-entry.ts');
    const names = (this.#names ??= new NameTable());
    for (const { name } of files) {
      const fault = name.includes('/') ? 'has a directory part' : entryNameFault(name);
      if (fault !== null) return `write-manifests: the file ${quoted(name)} ${fault}`;
    }
    for (const { name } of files) {
      const taken = names.add(name, 'file');
      if (taken !== null) return `write-manifests: the file ${quoted(name)} ${taken}`;
    }
    this.#count += files.length;
    return await this.#writeAll(files);
  }

  async #writeAll(files: readonly ManifestFile[]): Promise<string | null> {
    try {
      makePrivate(this.#directory);
      for (const { name, content } of files)
        await replaceFile(join(this.#directory, name), [Buffer.from(content)], { mode: 0o600 });
      return null;
    } catch (error) {
      if (error instanceof Diagnostic) return `write-manifests: ${error.message}`;
      throw error;
    }
  }
}

function makePrivate(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw ioFault(error, `the directory ${directory} cannot be made`);
  }
}
