/** Makes folders that are needed for a moment or until they are whole, and removes what killed processes left of theirs. */

import { lstatSync, mkdtempSync, opendirSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';

import { isErrno } from '../diagnostics/system-reason.ts';
import { ioFault } from './io-fault.ts';
import { unlessRefused } from './unless-refused.ts';

/** Nobody works for so long in what exists for a moment. */
const leftoverAgeMs = 24 * 60 * 60 * 1000;
/** A folder of others may have any number of names. */
const maxLooked = 10_000;
const maxRemoved = 100;

/** A new folder of this user alone, whose name begins with the prefix. `E-IO-001` when the system refuses it. The caller removes it. */
export function makeScratch(parent: string, prefix: string): string {
  let folder: string;
  try {
    folder = mkdtempSync(join(parent, prefix));
  } catch (error) {
    throw ioFault(error, `cannot make a folder in ${parent}`);
  }
  const { mtimeMs: now, uid: owner } = lstatSync(folder);
  removeLeftovers(parent, prefix, { now, owner });
  return folder;
}

/** The folder with all in it; what the system refuses to remove is left to a later run. */
export function removeScratch(folder: string): void {
  unlessRefused(() => rmSync(folder, { recursive: true, force: true }), undefined);
}

/**
 * Gives a folder that is whole its place on the same file system, in one step. False where a folder that holds something has the name: of several
 * who do so at once, one succeeds. Throws what else the system refuses.
 */
export async function placeFolder(folder: string, place: string): Promise<boolean> {
  try {
    await rename(folder, place);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST', 'ENOTEMPTY')) return false;
    throw error;
  }
}

/**
 * Removes files and folders of `owner`, where users have numbers, whose names begin with the prefix and that nobody has touched for a day before `now`,
 * which is in Unix milliseconds. Removes no link, and leaves what the system refuses.
 */
export function removeLeftovers(
  directory: string,
  prefix: string,
  { now, owner }: { readonly now: number; readonly owner: number | null },
): void {
  let removed = 0;
  for (const name of namesWith(directory, prefix)) {
    const path = join(directory, name);
    const stat = unlessRefused(() => lstatSync(path), null);
    if (stat === null || stat.isSymbolicLink() || (owner !== null && stat.uid !== owner)) continue;
    if (now - stat.mtimeMs < leftoverAgeMs) continue;
    removeScratch(path);
    removed += 1;
    if (removed === maxRemoved) return;
  }
}

function namesWith(directory: string, prefix: string): readonly string[] {
  const opened = unlessRefused(() => opendirSync(directory), null);
  if (opened === null) return [];
  const names: string[] = [];
  try {
    for (let looked = 0; looked < maxLooked; looked += 1) {
      const entry = unlessRefused(() => opened.readSync(), null);
      if (entry === null) break;
      if (entry.name.startsWith(prefix)) names.push(entry.name);
    }
  } finally {
    opened.closeSync();
  }
  return names;
}
