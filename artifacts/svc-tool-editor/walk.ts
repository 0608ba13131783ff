/** Goes through a directory, and through what is below it. */

import { FileFault, joined, type EntryKind, type FileTree, type TreeEntry } from './file-tree.ts';

const maxEntriesOfDirectory = 100_000;

export interface WalkedEntry {
  readonly path: string;
  readonly kind: EntryKind;
  /** Why a directory that was to be entered could not be. */
  readonly fault: string | null;
}

/**
 * What is in a directory, by name; below it too when `recursive`. Links are not followed, and `.git` is named but not entered.
 * Throws `FileFault` when the directory itself cannot be listed; one below it is passed over with its fault.
 */
export function* walk(tree: FileTree, directory: string, recursive: boolean): Generator<WalkedEntry, void, void> {
  yield* entriesOf(tree, directory, tree.list(directory, maxEntriesOfDirectory), recursive);
}

function* entriesOf(
  tree: FileTree,
  directory: string,
  entries: readonly TreeEntry[],
  recursive: boolean,
): Generator<WalkedEntry, void, void> {
  for (const { name, kind } of entries.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
    const path = joined(directory, name);
    const inside = recursive && kind === 'directory' && name !== '.git' ? contents(tree, path) : [];
    yield { path, kind, fault: inside instanceof FileFault ? inside.message : null };
    if (!(inside instanceof FileFault)) yield* entriesOf(tree, path, inside, recursive);
  }
}

function contents(tree: FileTree, path: string): readonly TreeEntry[] | FileFault {
  try {
    return tree.list(path, maxEntriesOfDirectory);
  } catch (error) {
    if (error instanceof FileFault) return error;
    throw error;
  }
}
