/** Writes a file into the workdir, through no link that the agent planted. */

import { fsyncSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { keepInPlaceOf, openAgentDirectory } from '@svc/kit/files/agent-directory.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { TemporaryFile } from '@svc/kit/files/replace-file.ts';

interface WorkdirFile {
  /** The accessible workdir: trusted itself, its contents are the agent's. */
  readonly workdir: string;
  /** A directory directly below the workdir, or null for the workdir itself. */
  readonly directory: string | null;
  readonly name: string;
  readonly content: string | Uint8Array;
}

/**
 * Puts a file of the runtime's own into the agent's workdir: whole or not at all, and never through a link the agent planted.
 * Throws the Diagnostic `E-IO-001` when the file system refuses.
 */
export function writeWorkdirFile(file: WorkdirFile): void {
  const shown = join(file.directory ?? '.', file.name);
  try {
    const base = openAgentDirectory(file.workdir, file.directory);
    try {
      replaceIn(base, file);
    } finally {
      base.close();
    }
  } catch (error) {
    throw ioFault(error, `${shown} cannot be written in ${file.workdir}`);
  }
}

function replaceIn(base: HeldDirectory, { name, content }: WorkdirFile): void {
  const temporary = new TemporaryFile(base.path);
  try {
    writeFileSync(temporary.fd, content);
    fsyncSync(temporary.fd);
    keepInPlaceOf(temporary, base.entry(name));
  } finally {
    temporary.close();
  }
}
