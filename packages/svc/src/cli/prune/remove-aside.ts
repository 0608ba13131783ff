/** Removes folders so that a removal that is broken off leaves nothing which looks whole. */

import { lstatSync, renameSync, rmSync, unlinkSync } from 'node:fs';

import { errorCode, isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { removeTree } from '@svc/kit/files/remove-tree.ts';
import { systemClock } from '@svc/kit/system-clock.ts';

const prefix = '.svc-pruned-';

/** Whether a removal that was broken off, or still goes on elsewhere, has left this. */
export function isAside(name: string): boolean {
  return name.startsWith(prefix);
}

/** A new name for it that no reader looks under; null when there is nothing, and `refused` when the system does not allow it. */
export function setAside(parent: HeldDirectory, name: string): { readonly name: string } | 'refused' | null {
  if (isAside(name)) return { name };
  const aside = `${prefix}${Buffer.from(systemClock.randomBytes(9)).toString('base64url')}`;
  try {
    renameSync(parent.entry(name), parent.entry(aside));
    return { name: aside };
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    if (errorCode(error) === undefined) throw error;
    return 'refused';
  }
}

/**
 * Removes what was set aside, a folder with all that is in it, and follows no link. False when the system refuses a part: that keeps its name, and the
 * next removal finds it. Several may do this at once.
 */
export async function removeAside(parent: HeldDirectory, name: string): Promise<boolean> {
  if (isFolder(parent, name) && parent.fd !== null) await removeTree(parent.entry(name));
  else removeByName(parent, name);
  return !isThere(parent, name);
}

function isFolder(parent: HeldDirectory, name: string): boolean {
  return lstatSync(parent.entry(name), { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isThere(parent: HeldDirectory, name: string): boolean {
  return lstatSync(parent.entry(name), { throwIfNoEntry: false }) !== undefined;
}

function removeByName(parent: HeldDirectory, name: string): void {
  try {
    if (isFolder(parent, name)) rmSync(parent.entry(name), { recursive: true, force: true });
    else unlinkSync(parent.entry(name));
  } catch (error) {
    // What is left is told of.
    if (errorCode(error) === undefined) throw error;
  }
}
