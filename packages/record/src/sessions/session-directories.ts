/** Makes the directories of a session, and opens those of its grants. */

import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { isDirectory, makeDirectories } from '@svc/kit/files/make-directories.ts';
import type { SessionId } from '@svc/protocol/ids.ts';

export interface SessionDirectories {
  /** The accessible workdir, links resolved: the agent reads and writes here. */
  readonly workdir: string;
  /** Trace, logs and staged tools, owner-only: out of the agent's reach. */
  readonly session: string;
  readonly trace: string;
}

interface DirectoriesRequest {
  /** The user's home, with `.svc/` of its own. */
  readonly home: string;
  /** The installed package. */
  readonly packageRoot: string;
  /** Where `workdir/` and `.svc/` lie: the directory of the manifest. */
  readonly root: string;
  readonly sessionId: SessionId;
  /** `--workdir`, absolute; null for a fresh one named by the session. */
  readonly workdir: string | null;
  /** A parent made the workdir in its own, which has been judged; its agent can put something else there. */
  readonly isDelegated: boolean;
}

/**
 * Makes the directories of a session (docs/cli.md "Files"). The workdir of a delegated one is there already, at that very path, and
 * anything else is `E-RUN-029` (D2 "Child directory"). `E-IO-001` when the file system refuses.
 */
export function makeSessionDirectories(request: DirectoriesRequest): SessionDirectories {
  const { root, sessionId } = request;
  const workdir = accessibleWorkdir(request);
  const session = join(root, '.svc', 'sessions', sessionId);
  makeDirectory(session, 0o700);
  return { workdir, session, trace: join(session, 'trace.jsonl') };
}

function accessibleWorkdir(request: DirectoriesRequest): string {
  const { root, sessionId, workdir, isDelegated } = request;
  if (workdir !== null && isDelegated) {
    refuseMoved(workdir);
    return workdir;
  }
  if (workdir !== null) refuseOwnPlaces(workdir, request);
  const accessible = workdir ?? join(root, 'workdir', sessionId);
  makeDirectory(accessible, 0o755);
  return realpathSync(accessible);
}

/**
 * Whatever opens something below the workdir later follows no link either, so that a path without one now means the parent's directory or
 * nothing for as long as the session lasts.
 */
function refuseMoved(workdir: string): void {
  try {
    HeldDirectory.open(workdir).close();
    if (realpathSync(workdir) === workdir) return;
  } catch (error) {
    if (!isObstacle(error) && !isErrno(error, 'ENOENT'))
      throw ioFault(error, `the workdir ${workdir} cannot be opened`);
  }
  throw new Diagnostic('E-RUN-029', `the workdir ${workdir} is not the directory that the parent made`, {
    hint: 'a link or something else has been put in its place: let the parent delegate again',
  });
}

/**
 * The manifest, the traces, what `svc` runs from its home and `svc` itself must stay out of the agent's reach: its workdir may lie in the
 * workspace, not around it, and neither around nor inside a `.svc/` or the installation. Looked at before anything is made.
 */
function refuseOwnPlaces(workdir: string, { root, home, packageRoot }: DirectoriesRequest): void {
  const place = realPath(workdir);
  const closed = [join(root, '.svc'), join(home, '.svc'), installationOf(packageRoot)].map(realPath);
  const holdsManifest = isBeneath(place, realPath(root)) && !isBeneath(place, realPath(home));
  const around = [root, packageRoot].map(realPath);
  const holdsOne = [...around, ...closed].some((path) => isBeneath(place, path));
  if (!holdsOne && !closed.some((path) => isBeneath(path, place))) return;
  throw new Diagnostic('E-RUN-029', `the workdir ${workdir} would give the agent what svc itself keeps`, {
    hint: holdsManifest
      ? 'to work on the folder of the manifest, leave --workdir out and add capabilities: { project: { path: . } } to svc.yaml: the agent sees the folder as project/'
      : 'name a directory of its own with --workdir, or leave the flag out',
  });
}

/** Installers put what a package needs beside it. */
function installationOf(packageRoot: string): string {
  const beside = dirname(packageRoot);
  return basename(beside) === 'node_modules' ? beside : packageRoot;
}

/** With links resolved as far as the path exists. */
export function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const parent = dirname(path);
  return parent === path ? path : join(realPath(parent), basename(path));
}

function makeDirectory(path: string, mode: number): void {
  let made = dirname(path);
  try {
    makeDirectories(made);
    made = path;
    mkdirSync(path, { mode });
  } catch (error) {
    if (isErrno(error, 'EEXIST') && isDirectory(path)) return;
    throw ioFault(error, `the directory ${made} cannot be made`);
  }
}

/**
 * The directory `scope` below the canonical workdir, made where it is missing. An agent may have left links there in an earlier session, and
 * the agent of a parent may put one above a workdir at any time: none is followed, and one on the way is `E-CAP-002`. `E-IO-001` when the
 * file system refuses.
 */
export function openScopeDirectory(workdir: string, scope: string): HeldDirectory {
  const obstacle = new Diagnostic('E-CAP-002', `the filesystem scope ${scope} is not a directory of the workdir`, {
    hint: 'remove the link or file that stands in its place',
  });
  return openBelow(workdir, scope, 0o777, obstacle);
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
  openBelow(workdir, path, 0o700, obstacle).close();
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
  return openBelow(realRoot(root), path, 0o700, obstacle);
}

function realRoot(root: string): string {
  try {
    makeDirectories(root, 0o700);
    return realpathSync(root);
  } catch (error) {
    throw ioFault(error, `the directory ${root} cannot be made`);
  }
}

/** `workdir` is canonical; `obstacle` is thrown for a link or file on the way. */
function openBelow(workdir: string, path: string, mode: number, obstacle: Diagnostic): HeldDirectory {
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
