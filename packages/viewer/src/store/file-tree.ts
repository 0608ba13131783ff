/** Makes a tree of paths, as a person looks at files. */

export interface FileEntry {
  readonly path: string;
  /** Is null if the file is only known from what changed it. */
  readonly bytes: number | null;
  readonly added: number;
  readonly removed: number;
  readonly rows: readonly number[];
}

/** A line of the tree: a folder, or a file with its entry. */
export interface TreeLine {
  readonly depth: number;
  readonly name: string;
  readonly path: string;
  readonly file: FileEntry | null;
}

export const resultPath = 'out/result.txt';
const deepest = 20;

/** Folders before what is in them; the result of the session first of all. */
export function treeOf(files: readonly FileEntry[]): readonly TreeLine[] {
  const lines: TreeLine[] = [];
  const seen = new Set<string>();
  const result = files.find(({ path }) => path === resultPath);
  if (result !== undefined) lines.push({ depth: 0, name: resultPath, path: resultPath, file: result });
  const rest = files.filter((file) => file !== result).sort((a, b) => compare(a.path, b.path));
  for (const file of rest) {
    const parts = file.path.split('/');
    const folders = parts.slice(0, -1).slice(0, deepest);
    for (let depth = 0; depth < folders.length; depth += 1) {
      const path = folders.slice(0, depth + 1).join('/');
      if (seen.has(path)) continue;
      seen.add(path);
      lines.push({ depth, name: folders[depth] ?? '', path, file: null });
    }
    lines.push({ depth: folders.length, name: parts.slice(folders.length).join('/'), path: file.path, file });
  }
  return lines;
}

/** A folder's files stand together, folders before files of the same level. */
function compare(a: string, b: string): number {
  const [left, right] = [a.split('/'), b.split('/')];
  for (let level = 0; level < Math.min(left.length, right.length); level += 1) {
    const [one = '', other = ''] = [left[level], right[level]];
    const [isFile, isOtherFile] = [level === left.length - 1, level === right.length - 1];
    if (isFile !== isOtherFile) return isFile ? 1 : -1;
    if (one !== other) return one < other ? -1 : 1;
  }
  return left.length - right.length;
}
