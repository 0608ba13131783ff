/** Makes missing directories. */

import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { ioFault } from './io-fault.ts';
import { unlessErrno, unlessRefused } from './unless-refused.ts';

/**
 * Makes a directory and the missing ones above it, all with this mode; one that is there already is left as it is. Throws the
 * error of the file system. Node's own recursive call never returns where the kernel says that the parent is missing
 * although it is there, as below `/proc`.
 */
export function makeDirectories(path: string, mode = 0o777): void {
  if (madeOne(path, mode)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectories(parent, mode);
  mkdirOrFind(path, mode);
}

/** Whether a path leads to a directory; false where the system does not show it, as below a file. */
export function isDirectory(path: string): boolean {
  return unlessRefused(() => statSync(path).isDirectory(), false);
}

/** False when the directory above is missing. */
function madeOne(path: string, mode: number): boolean {
  const made = (): true => {
    mkdirOrFind(path, mode);
    return true;
  };
  return unlessErrno(['ENOENT'], made, false);
}

function mkdirOrFind(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // A file system that is read-only, or not ours, says so before it looks whether the directory is there.
    if (!isDirectory(path)) throw error;
  }
}

/** The same; `E-IO-001` when it cannot be made. */
export async function makeDirectory(path: string, mode?: number): Promise<void> {
  try {
    makeDirectories(path, mode);
  } catch (error) {
    throw ioFault(error, `cannot make the directory ${path}`);
  }
}
