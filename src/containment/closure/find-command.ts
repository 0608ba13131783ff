import { basename } from 'node:path/posix';

import type { FileCollection } from './file-collection.ts';
import { resolvePyenvShim } from './pyenv-shim.ts';

/**
 * The program that stands under a bare name in the first of `searchPath` that has one, as `execvp` would find it. Where
 * that is a pyenv shim, the interpreter behind it, with a link in the shim's place.
 */
export function findCommand(files: FileCollection, name: string, searchPath: readonly string[]): string | null {
  for (const directory of searchPath) {
    const path = `${directory}/${name}`;
    const walk = files.find(path);
    if (walk?.kind === 'file' && walk.executable) return unshimmed(files, path, searchPath) ?? path;
  }
  return null;
}

/** The program behind a pyenv shim; null when `path` is none, or stands for nothing that can be told. */
export function unshimmed(files: FileCollection, path: string, searchPath: readonly string[]): string | null {
  const walk = files.find(path);
  const shim = walk === null ? null : resolvePyenvShim(files, walk);
  if (walk === null || shim === null) return null;
  const others = searchPath.filter((directory) => files.find(directory)?.path !== shim.directory);
  const behind = shim.program ?? findCommand(files, basename(path), others);
  if (behind === null) {
    const { root } = shim;
    files.problem(`${path} is a pyenv shim, and ${root}/version names no version that has ${basename(path)}`);
    return null;
  }
  files.link({ path: walk.path, target: behind });
  return behind;
}
