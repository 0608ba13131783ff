import { joined, type EntryKind, type FileTree } from './file-tree.ts';

const mostEntriesOfDirectory = 100_000;

export interface WalkedEntry {
  readonly path: string;
  readonly kind: EntryKind;
}

/** What is in a directory, by name; below it too when `recursive`. Links are not followed, and `.git` is named but not entered. */
export function* walk(tree: FileTree, directory: string, recursive: boolean): Generator<WalkedEntry, void, void> {
  const entries = [...tree.list(directory, mostEntriesOfDirectory)].sort((left, right) =>
    left.name < right.name ? -1 : 1,
  );
  for (const { name, kind } of entries) {
    const path = joined(directory, name);
    yield { path, kind };
    if (recursive && kind === 'directory' && name !== '.git') yield* walk(tree, path, recursive);
  }
}
