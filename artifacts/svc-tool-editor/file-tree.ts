/** The files that the editor works on, as it sees them. */

import { wellFormed } from '@svc/guest/text.ts';

export type EntryKind = 'file' | 'directory' | 'link' | 'other';

export interface TreeEntry {
  readonly name: string;
  readonly kind: EntryKind;
}

/**
 * The files an editor may touch. A path is relative, with single slashes and neither `.` nor `..` in it; the top is `''`.
 * What cannot be done is thrown as `FileFault`.
 */
export interface FileTree {
  /** Returns null if nothing is there. Follows no link. */
  stat(path: string): { readonly kind: EntryKind; readonly size: number } | null;
  /** The first `maxBytes` of a file; a link is followed as far as the tree reaches. */
  read(path: string, maxBytes: number): Uint8Array;
  /** Unordered. Throws when there are more than `maxEntries`. */
  list(path: string, maxEntries: number): readonly TreeEntry[];
  /** The directory exists afterwards, with those above it. */
  makeDirectory(path: string): void;
  /** The file holds `bytes` afterwards, or what it held before: never a part of either. */
  replace(path: string, bytes: Uint8Array): void;
}

/** Why a file operation is refused, as one sentence for the model. */
export class FileFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FileFault';
  }
}

/** A path as a person or a model writes it, in the form of `FileTree`. */
export function treePath(given: string): string {
  if (given.includes('\0')) throw new FileFault('the path holds a NUL character');
  if (wellFormed(given) !== given) throw new FileFault('the path is not valid text');
  const segments: string[] = [];
  for (const segment of given.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) throw new FileFault(`${given} is outside the working directory`);
  }
  return segments.join('/');
}

/** The path for a sentence: the top has a name too. */
export function shown(path: string): string {
  return path === '' ? 'the working directory' : path;
}

export function joined(directory: string, name: string): string {
  return directory === '' ? name : `${directory}/${name}`;
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
