import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '../diagnostics/system-reason.ts';
import { isErrno } from '../store/io-fault.ts';
import { makeDirectories } from '../store/make-directories.ts';

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
    if (!isSystemError(error)) throw error;
    const reason = systemReason(error);
    throw new Diagnostic('E-IO-001', `${shown} cannot be written in ${file.workdir}: ${reason}`, { cause: error });
  }
}

const mostTemporaries = 100;

interface OpenPath {
  readonly fd: number;
  /** A path that means this very directory, whatever its name has become since. */
  readonly path: string;
}

function openDirectory(workdir: string, directory: string | null): OpenPath {
  if (directory === null) return openExactly(workdir);
  const path = join(workdir, directory);
  makeDirectories(workdir);
  try {
    mkdirSync(path);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
  try {
    return openExactly(path);
  } catch (error) {
    // A link or a file where the directory belongs is the agent's doing: it gives way.
    if (!isErrno(error, 'ENOTDIR', 'ELOOP')) throw error;
    unlinkSync(path);
    mkdirSync(path);
    return openExactly(path);
  }
}

function openExactly(path: string): OpenPath {
  const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  return { fd, path: descriptorPath(fd) ?? path };
}

/** Null where there is no /proc: the path itself is all there is then. */
function descriptorPath(fd: number): string | null {
  const path = `/proc/self/fd/${fd}`;
  return existsSync(path) ? path : null;
}

function replaceFile(base: OpenPath, file: WorkdirFile): void {
  const { fd, path } = createTemporary(base, file.name);
  try {
    try {
      const bytes = Buffer.from(file.text);
      let written = 0;
      while (written < bytes.length) written += writeSync(fd, bytes, written);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    moveInto(path, join(base.path, file.name));
  } catch (error) {
    unlinkSync(path);
    throw error;
  }
}

/** What stands where the runtime's file belongs gives way: a directory is moved aside, since it may hold the agent's work. */
function moveInto(temporary: string, target: string): void {
  try {
    renameSync(temporary, target);
  } catch (error) {
    if (!isErrno(error, 'EISDIR')) throw error;
    renameSync(target, `${temporary}.displaced`);
    renameSync(temporary, target);
  }
}

/** A fresh file: one that the agent planted under a name is passed over, never opened and never removed. */
function createTemporary(base: OpenPath, name: string): OpenPath {
  for (let attempt = 0; ; attempt += 1) {
    const path = join(base.path, `.${name}.${attempt}.tmp`);
    try {
      return { fd: openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644), path };
    } catch (error) {
      if (!isErrno(error, 'EEXIST') || attempt === mostTemporaries) throw error;
    }
  }
}
