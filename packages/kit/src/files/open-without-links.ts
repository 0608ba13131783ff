import { closeSync, constants, existsSync, mkdirSync, openSync } from 'node:fs';
import { resolve } from 'node:path';

import { isErrno } from '../diagnostics/system-reason.ts';
import { makeDirectories } from './make-directories.ts';

/** Linux; Node has no name for it. Opens a place in the tree without opening what is there. */
export const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

export interface OpenPath {
  readonly fd: number;
  /** A path that means this very directory or file, whatever its name has become since. */
  readonly path: string;
}

export interface WalkOptions {
  /** Of directories that are missing on the way, which are made; without it they are an error. */
  readonly makeMode?: number;
}

/**
 * Opens the directory at a canonical absolute path, a segment at a time from `/`, so that no link is followed in any part of it, not even one
 * that is put there meanwhile: each step starts at an open directory. Whoever asks closes the descriptor, which is good for paths below it
 * alone. Throws the system's errors: `isObstacle` for a link or a file on the way. Without /proc only the last part is held to that.
 */
export function openWithoutLinks(path: string, options: WalkOptions = {}): OpenPath {
  return existsSync('/proc/self/fd') ? walk(path, options) : openLastPart(path, options);
}

/** Whether the system refused because a link or a file stands where a directory belongs. */
export function isObstacle(error: unknown): boolean {
  return isErrno(error, 'ELOOP', 'ENOTDIR');
}

function walk(path: string, options: WalkOptions): OpenPath {
  let fd = openSync('/', O_PATH | O_DIRECTORY);
  for (const segment of resolve(path).split('/').slice(1)) {
    if (segment === '') continue;
    const parent = fd;
    try {
      fd = enter(`/proc/self/fd/${parent}/${segment}`, options);
    } finally {
      closeSync(parent);
    }
  }
  return { fd, path: `/proc/self/fd/${fd}` };
}

function enter(path: string, { makeMode }: WalkOptions): number {
  const open = (): number => openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  try {
    return open();
  } catch (error) {
    if (makeMode === undefined || !isErrno(error, 'ENOENT')) throw error;
  }
  makeMissing(path, makeMode);
  return open();
}

/** Makes one directory unless something is there, whatever that is. */
export function makeMissing(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}

function openLastPart(path: string, { makeMode }: WalkOptions): OpenPath {
  if (makeMode !== undefined) makeDirectories(path, makeMode);
  return { fd: openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path };
}
