/** Lists the files of a directory for a model. */

import { passed, type ToolOutput } from '@svc/guest/tool.ts';
import type { EditArguments } from './edit-arguments.ts';
import { FileFault, shown, type FileTree } from './file-tree.ts';
import { walk, type WalkedEntry } from './walk.ts';

/** Most entries that one call returns. */
export const maxList = 1000;

/** `list`: one path a line, in order, a directory ending in `/` and a symbolic link in `@`. */
export function listFiles(tree: FileTree, args: EditArguments): ToolOutput {
  const path = args.anyPath();
  const found = tree.stat(path);
  if (found === null) throw new FileFault(`${path} does not exist`);
  if (found.kind !== 'directory') throw new FileFault(`${path} is not a directory; use read`);
  const lines: string[] = [];
  for (const entry of walk(tree, path, args.flag('recursive'))) {
    if (lines.length === maxList) {
      return passed([...lines, `[cut after ${maxList} entries; list a directory below]`].join('\n'), true);
    }
    lines.push(line(entry));
  }
  return passed(lines.length === 0 ? `[${shown(path)} is empty]` : lines.join('\n'));
}

function line({ path, kind, fault }: WalkedEntry): string {
  const name = kind === 'directory' ? `${path}/` : kind === 'link' ? `${path}@` : path;
  return fault === null ? name : `${name} [not listed: ${fault}]`;
}
