/** Writes a whole text file for a model. */

import { passed, type ToolOutput } from '@svc/guest/tool.ts';
import type { EditArguments } from './edit-arguments.ts';
import { FileFault, parentOf, type FileTree } from './file-tree.ts';
import { sized } from './text-file.ts';

/** Most bytes that one call writes. */
export const maxWrite: number = 4 * 1024 * 1024;

/** `write`: the file holds the content afterwards, or is as it was. Directories above it are made. */
export function writeFile(tree: FileTree, args: EditArguments): ToolOutput {
  const path = args.filePath();
  const bytes = encoded(args.text('content'));
  const isNew = checkTarget(tree, path);
  if (isNew) tree.makeDirectory(parentOf(path));
  tree.replace(path, bytes);
  return passed(`${isNew ? 'created' : 'replaced'} ${path} (${sized(bytes.length)})`);
}

/** The bytes of a text, unless they are more than one call may write. */
export function encoded(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxWrite) return bytes;
  throw new FileFault(`the content is larger than the limit of ${sized(maxWrite)}`);
}

/** Whether the file is still to be made; a link is refused, because putting a file in its place would not change what it names. */
export function checkTarget(tree: FileTree, path: string): boolean {
  const found = tree.stat(path);
  switch (found?.kind) {
    case undefined:
      return true;
    case 'directory':
      throw new FileFault(`${path} is a directory`);
    case 'link':
      throw new FileFault(`${path} is a symbolic link; name the file it points to`);
    case 'other':
      throw new FileFault(`${path} is not a regular file`);
    default:
      return false;
  }
}
