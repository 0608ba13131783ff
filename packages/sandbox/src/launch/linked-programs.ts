import { lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import type { NeededFiles } from './needed-files.ts';

/**
 * Where no root is composed, the links of `files` that the host does not have: they stand for pyenv's shims, which the process may not
 * run. They are made in `directory`, to be searched first; null when there are none.
 */
export function linkPrograms({ links }: Pick<NeededFiles, 'links'>, directory: string): string | null {
  const missing = links.filter(({ path }) => !isLink(path));
  if (missing.length === 0) return null;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const { path, target } of missing) makeLink(target, join(directory, basename(path)));
  return directory;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** The same name from another directory is the same program: it was found for that name. */
function makeLink(target: string, path: string): void {
  try {
    symlinkSync(target, path);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}
