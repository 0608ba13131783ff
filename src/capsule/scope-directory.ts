import { closeSync, constants, existsSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

import { Diagnostic } from '../diagnostics/diagnostic.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** A directory of the workdir, held open so that its path means it whatever becomes of its names. */
export interface ScopeDirectory {
  readonly path: string;
  close(): void;
}

/**
 * The directory `scope` below the workdir, made where it is missing. An agent may have left links there in an earlier session:
 * none is followed, and one on the way is `E-CAP-002`.
 */
export function openScopeDirectory(workdir: string, scope: string): ScopeDirectory {
  if (!existsSync('/proc/self/fd')) return checkedDirectory(workdir, scope);
  let fd = openSync(workdir, O_RDONLY | O_DIRECTORY);
  for (const segment of scope.split('/').filter((each) => each !== '' && each !== '.')) {
    const parent = fd;
    try {
      fd = openBelow(parent, segment, scope);
    } finally {
      closeSync(parent);
    }
  }
  return { path: `/proc/self/fd/${fd}/.`, close: () => closeSync(fd) };
}

function openBelow(parent: number, segment: string, scope: string): number {
  const path = `/proc/self/fd/${parent}/${segment}`;
  try {
    mkdirSync(path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  try {
    return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    if (hasCode(error, 'ELOOP') || hasCode(error, 'ENOTDIR')) throw notADirectory(scope);
    throw error;
  }
}

/** Without /proc there is only the path, checked once. */
function checkedDirectory(workdir: string, scope: string): ScopeDirectory {
  const path = join(workdir, scope);
  mkdirSync(path, { recursive: true });
  const way = relative(realpathSync(workdir), realpathSync(path));
  if (way === '..' || way.startsWith(`..${sep}`)) throw notADirectory(scope);
  return { path, close: () => {} };
}

function notADirectory(scope: string): Diagnostic {
  return new Diagnostic('E-CAP-002', `the filesystem scope ${scope} is not a directory of the workdir`, {
    hint: 'remove the link or file that stands in its place',
  });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
