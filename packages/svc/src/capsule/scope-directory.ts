import { realpathSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';

/**
 * The directory `scope` below the canonical workdir, made where it is missing. An agent may have left links there in an earlier session, and
 * the agent of a parent may put one above a workdir at any time: none is followed, and one on the way is `E-CAP-002`. `E-IO-001` when the
 * file system refuses.
 */
export function openScopeDirectory(workdir: string, scope: string): HeldDirectory {
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
export function openStateStore(home: string, store: string): HeldDirectory {
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

function openBelow({ workdir, path, mode, obstacle }: DirectoryBelow): HeldDirectory {
  try {
    const base = HeldDirectory.open(workdir);
    try {
      return base.below(path, mode);
    } finally {
      base.close();
    }
  } catch (error) {
    throw isObstacle(error) ? obstacle : ioFault(error, `the directory ${path} of ${workdir} cannot be made`);
  }
}
