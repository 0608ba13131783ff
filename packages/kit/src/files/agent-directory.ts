/** Opens directories in a workdir, whose agent may change any name in it meanwhile. */

import { renameSync, unlinkSync } from 'node:fs';

import { isErrno } from '../diagnostics/system-reason.ts';
import { HeldDirectory, isObstacle } from './held-directory.ts';
import type { TemporaryFile } from './replace-file.ts';

/**
 * Opens a directory directly below an agent's workdir, or the workdir itself for null, and makes it when it is missing. The workdir is
 * canonical. What is in it is the agent's, and what is above it may be that of the agent of a parent, so no link is followed in any part of
 * the path. The caller closes it. Throws system errors.
 */
export function openAgentDirectory(workdir: string, directory: string | null): HeldDirectory {
  if (directory === null) return HeldDirectory.open(workdir);
  const base = HeldDirectory.open(workdir, 0o777);
  try {
    return base.enter(directory, 0o777);
  } catch (error) {
    // A link or a file where the directory belongs is the agent's doing: it gives way.
    if (!isObstacle(error)) throw error;
    unlinkSync(base.entry(directory));
    return base.enter(directory, 0o777);
  } finally {
    base.close();
  }
}

/** Gives the file its place. A directory that stands there is moved aside, since it may hold the agent's work. */
export function keepInPlaceOf(file: TemporaryFile, target: string): void {
  try {
    file.keepAs(target);
  } catch (error) {
    if (!isErrno(error, 'EISDIR')) throw error;
    renameSync(target, `${file.path}.displaced`);
    file.keepAs(target);
  }
}
