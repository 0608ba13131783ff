import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '../diagnostics/diagnostic.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

export interface WorkdirFile {
  /** The accessible workdir: trusted itself, its contents are the agent's. */
  readonly workdir: string;
  /** A directory directly below the workdir, or null for the workdir itself. */
  readonly directory: string | null;
  readonly name: string;
  readonly text: string;
}

/**
 * Puts a file of the runtime's own into the agent's workdir: whole or not at all, and never through a link the agent planted.
 * Throws the Diagnostic `E-IO-001` when the file system refuses.
 */
export function writeWorkdirFile(file: WorkdirFile): void {
  const shown = join(file.directory ?? '.', file.name);
  try {
    const base = openDirectory(file.workdir, file.directory);
    try {
      replaceFile(base, file);
    } finally {
      closeSync(base.fd);
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Diagnostic('E-IO-001', `${shown} cannot be written in ${file.workdir}: ${reason}`, { cause: error });
  }
}

interface OpenDirectory {
  readonly fd: number;
  /** A path that means this very directory, whatever its name has become since. */
  readonly path: string;
}

function openDirectory(workdir: string, directory: string | null): OpenDirectory {
  if (directory === null) return openExactly(workdir);
  const path = join(workdir, directory);
  mkdirSync(workdir, { recursive: true });
  try {
    mkdirSync(path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  try {
    return openExactly(path);
  } catch (error) {
    // A link or a file where the directory belongs is the agent's doing: it gives way.
    if (!hasCode(error, 'ENOTDIR') && !hasCode(error, 'ELOOP')) throw error;
    unlinkSync(path);
    mkdirSync(path);
    return openExactly(path);
  }
}

function openExactly(path: string): OpenDirectory {
  const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  return { fd, path: descriptorPath(fd) ?? path };
}

/** Null where there is no /proc: the path itself is all there is then. */
function descriptorPath(fd: number): string | null {
  const path = `/proc/self/fd/${fd}`;
  return existsSync(path) ? path : null;
}

function replaceFile(base: OpenDirectory, file: WorkdirFile): void {
  const temporary = join(base.path, `.${file.name}.tmp`);
  rmSync(temporary, { force: true, recursive: true });
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
  try {
    const bytes = Buffer.from(file.text);
    let written = 0;
    while (written < bytes.length) written += writeSync(fd, bytes, written);
    fsyncSync(fd);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, join(base.path, file.name));
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
