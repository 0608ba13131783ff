import { constants, openSync, renameSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

import { isErrno } from '../diagnostics/system-reason.ts';
import { HeldDirectory, isObstacle } from './held-directory.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * Opens a directory directly below an agent's workdir, or the workdir itself for null, and makes it when it is missing. The workdir is
 * canonical. What is in it is the agent's, and what is above it may be that of the agent of a parent, so no link is followed in any part of
 * the path. Whoever asks closes it. Throws system errors.
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

export interface OpenPath {
  readonly fd: number;
  readonly path: string;
}

const mostTemporaries = 100;

/** A fresh file beside `name`: one that the agent planted under a name is passed over, never opened and never removed. */
export function createTemporaryIn(base: HeldDirectory, name: string): OpenPath {
  for (let attempt = 0; ; attempt += 1) {
    const path = join(base.path, `.${name}.${attempt}.tmp`);
    try {
      return { fd: openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644), path };
    } catch (error) {
      if (!isErrno(error, 'EEXIST') || attempt === mostTemporaries) throw error;
    }
  }
}

/** What stands where the runtime's file belongs gives way: a directory is moved aside, since it may hold the agent's work. */
export function moveInto(temporary: string, target: string): void {
  try {
    renameSync(temporary, target);
  } catch (error) {
    if (!isErrno(error, 'EISDIR')) throw error;
    renameSync(target, `${temporary}.displaced`);
    renameSync(temporary, target);
  }
}
