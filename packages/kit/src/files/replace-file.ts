import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { temporaryName } from './temporary-name.ts';

/**
 * Replaces `path` by an owner-only file with these bytes and returns once they are on the disk: after a crash at any moment it is
 * the old file or the new one. The directory is there already. Throws the refusal of the operating system; the old file is left then.
 */
export function replaceFile(path: string, bytes: Uint8Array): void {
  const directory = dirname(path);
  const temporary = join(directory, temporaryName());
  try {
    writeWhole(temporary, bytes);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(directory);
}

function writeWhole(path: string, bytes: Uint8Array): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    let written = 0;
    while (written < bytes.length) written += writeSync(file, bytes, written);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
