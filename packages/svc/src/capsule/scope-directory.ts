import { closeSync, constants, existsSync, lstatSync, openSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { isObstacle, makeMissing, openWithoutLinks } from '@svc/kit/files/open-without-links.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** A directory of the workdir or of the user's state, held open so that its path means it whatever becomes of its names. */
export interface ScopeDirectory {
  readonly path: string;
  close(): void;
}

/**
 * The directory `scope` below the canonical workdir, made where it is missing. An agent may have left links there in an earlier session, and
 * the agent of a parent may put one above a workdir at any time: none is followed, and one on the way is `E-CAP-002`. `E-IO-001` when the
 * file system refuses.
 */
export function openScopeDirectory(workdir: string, scope: string): ScopeDirectory {
  const obstacle = new Diagnostic('E-CAP-002', `the filesystem scope ${scope} is not a directory of the workdir`, {
    hint: 'remove the link or file that stands in its place',
  });
  return openBelow({ workdir, path: scope, mode: 0o777, obstacle });
}

/** Makes the runtime's own directory `path` below the workdir, owner-only, in the same way; `E-IO-001` for whatever is against it. */
export function makePrivateDirectory(workdir: string, path: string): void {
  const obstacle = new Diagnostic(
    'E-IO-001',
    `${path} cannot be made in ${workdir}: a link or a file is in its place`,
    {
      hint: 'remove it, or leave --workdir out for a fresh workdir',
    },
  );
  openBelow({ workdir, path, mode: 0o700, obstacle }).close();
}

/**
 * The user's state store of this name, made owner-only where it is missing. `E-CAP-017` for a link or a file in its place; only
 * `~/.svc` itself may be a link, which is the user's own to set.
 */
export function openStateStore(home: string, store: string): ScopeDirectory {
  const root = join(home, '.svc');
  const path = `state/${store}`;
  const obstacle = new Diagnostic(
    'E-CAP-017',
    `the state store ${store} is not a directory of ${join(root, 'state')}`,
    {
      hint: `a link or a file stands in the place of ${join(root, path)} or above it: remove it`,
    },
  );
  return openBelow({ workdir: realRoot(root), path, mode: 0o700, obstacle });
}

function realRoot(root: string): string {
  try {
    makeDirectories(root, 0o700);
    return realpathSync(root);
  } catch (error) {
    throw ioFault(error, `the directory ${root} cannot be made`);
  }
}

interface DirectoryBelow {
  /** Canonical. */
  readonly workdir: string;
  readonly path: string;
  readonly mode: number;
  /** Thrown for a link or file on the way. */
  readonly obstacle: Diagnostic;
}

function openBelow(below: DirectoryBelow): ScopeDirectory {
  try {
    return existsSync('/proc/self/fd') ? heldDirectory(below) : checkedDirectory(below);
  } catch (error) {
    throw ioFault(error, `the directory ${below.path} of ${below.workdir} cannot be made`);
  }
}

function heldDirectory(below: DirectoryBelow): ScopeDirectory {
  let fd = openBase(below);
  for (const segment of segmentsOf(below.path)) {
    const parent = fd;
    try {
      fd = openSegment(`/proc/self/fd/${parent}/${segment}`, below);
    } finally {
      closeSync(parent);
    }
  }
  return { path: `/proc/self/fd/${fd}/.`, close: () => closeSync(fd) };
}

function openBase({ workdir, obstacle }: DirectoryBelow): number {
  try {
    return openWithoutLinks(workdir).fd;
  } catch (error) {
    throw isObstacle(error) ? obstacle : error;
  }
}

function openSegment(path: string, { mode, obstacle }: DirectoryBelow): number {
  makeMissing(path, mode);
  try {
    return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    throw isObstacle(error) ? obstacle : error;
  }
}

/** Without /proc there is only the path, each part of it checked once. */
function checkedDirectory({ workdir, path: below, mode, obstacle }: DirectoryBelow): ScopeDirectory {
  let path = workdir;
  for (const segment of segmentsOf(below)) {
    path = join(path, segment);
    makeMissing(path, mode);
    if (!lstatSync(path).isDirectory()) throw obstacle;
  }
  return { path, close: () => {} };
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((each) => each !== '' && each !== '.');
}
