/** Removes folders so that a removal that is broken off leaves nothing which looks whole. */

import { lstatSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

import { isSessionId } from '@svc/protocol/ids.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { type LeftOver, removeTree } from '@svc/kit/files/remove-tree.ts';
import { temporaryName } from '@svc/kit/files/temporary-name.ts';
import { unlessErrno } from '@svc/kit/files/unless-refused.ts';

const prefix = '.svc-pruned-';

/** Whether a removal that was broken off, or still goes on elsewhere, has left this. */
export function isAside(name: string): boolean {
  return name.startsWith(prefix);
}

/** The session whose folder it was; null for anything else. */
export function sessionAside(name: string): string | null {
  const id = name.slice(prefix.length, name.indexOf('.', prefix.length));
  return isAside(name) && isSessionId(id) ? id : null;
}

/** A new name for it that no reader looks under; null when there is nothing, and the system's error when that does not allow it. */
export function setAside(parent: HeldDirectory, name: string): { readonly name: string } | Error | null {
  if (isAside(name)) return { name };
  const aside = temporaryName(isSessionId(name) ? `${prefix}${name}.` : prefix);
  const moved = (): { readonly name: string } => {
    renameSync(parent.entry(name), parent.entry(aside));
    return { name: aside };
  };
  try {
    return unlessErrno(['ENOENT'], moved, null);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return error;
  }
}

/**
 * Removes what was set aside, a folder with all that is in it, and follows no link. What is left, with its path below the parent, when the system
 * refuses a part: that keeps its name, and the next removal finds it. Several may do this at once.
 */
export async function removeAside(parent: HeldDirectory, name: string): Promise<LeftOver | null> {
  const isTree = isFolder(parent, name) && parent.fd !== null;
  const left = isTree ? await removeTree(parent.entry(name)) : removedByName(parent, name);
  return left === null || !isThere(parent, name) ? null : { ...left, path: join(name, left.path) };
}

function isFolder(parent: HeldDirectory, name: string): boolean {
  return lstatSync(parent.entry(name), { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isThere(parent: HeldDirectory, name: string): boolean {
  return lstatSync(parent.entry(name), { throwIfNoEntry: false }) !== undefined;
}

function removedByName(parent: HeldDirectory, name: string): LeftOver | null {
  try {
    if (isFolder(parent, name)) rmSync(parent.entry(name), { recursive: true, force: true });
    else unlinkSync(parent.entry(name));
    return null;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return { path: '', reason: systemReason(error) };
  }
}
