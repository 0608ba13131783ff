import { relative, sep } from 'node:path';

import type { NeededFiles } from './needed-files.ts';

/**
 * The files without those of the workdir: what the agent can write has the rights of the workdir and no others, also where a link under a
 * listed name leads to it. Each program that is kept from running so is told of, unless the workdir may be executed.
 */
export function withoutAgentsPrograms(
  files: NeededFiles,
  { workdir, workdirExec }: { readonly workdir: string; readonly workdirExec: boolean },
): NeededFiles {
  const isOutside = (path: string): boolean => !isBelow(path, workdir);
  const kept = files.execute.filter((path) => !isOutside(path));
  if (kept.length === 0 && files.read.every(isOutside)) return files;
  const problems = workdirExec
    ? []
    : kept.map((path) => `${path} lies in the workdir, and runs only with capabilities.filesystem.workdir_exec`);
  return {
    ...files,
    read: files.read.filter(isOutside),
    execute: files.execute.filter(isOutside),
    problems: [...files.problems, ...problems],
  };
}

function isBelow(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== '..' && !way.startsWith(`..${sep}`);
}
