import { basename } from 'node:path/posix';

import type { FileCollection } from './file-collection.ts';
import { type PyenvShim, resolvePyenvShim } from './pyenv-shim.ts';

/**
 * The program that stands under a bare name in the first of `searchPath` that has one, as `execvp` would find it. Where
 * that is a pyenv shim, the interpreter behind it, with a link in the shim's place.
 */
export function findCommand(files: FileCollection, name: string, searchPath: readonly string[]): string | null {
  for (const directory of searchPath) {
    const path = `${directory}/${name}`;
    const walk = files.find(path);
    if (walk?.kind === 'file' && walk.executable) return withoutShim(files, path, searchPath);
  }
  return null;
}

/** `path`, or the program behind it when it is a pyenv shim; null, with a problem, when nothing stands behind one. */
export function withoutShim(files: FileCollection, path: string, searchPath: readonly string[]): string | null {
  const walk = files.find(path);
  const shim = walk === null ? null : resolvePyenvShim(files, walk);
  if (walk === null || shim === null) return path;
  const behind = programBehind(files, { shim, name: basename(path), searchPath });
  if (behind === null) files.problem(`${path} is a pyenv shim, and ${shim.root}/version names no version that has it`);
  else files.link({ path: walk.path, target: behind });
  return behind;
}

interface ShimQuestion {
  readonly shim: PyenvShim;
  readonly name: string;
  readonly searchPath: readonly string[];
}

function programBehind(files: FileCollection, { shim, name, searchPath }: ShimQuestion): string | null {
  switch (shim.behind.kind) {
    case 'program':
      return shim.behind.path;
    case 'system': {
      const others = searchPath.filter((directory) => files.find(directory)?.path !== shim.directory);
      return findCommand(files, name, others);
    }
    case 'none':
      return null;
  }
}
