/** Holds a directory, so that what is below it is reached a name at a time and through no link, whatever becomes of its path meanwhile. */

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { resolve } from 'node:path';

import { isErrno } from '../diagnostics/system-reason.ts';
import { readFileUpTo } from './read-up-to.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Linux; Node has no name for it. Opens a place in the tree without opening what is there. */
export const O_PATH = 0o10000000;

/** Flags that open a directory for listing, and never one that a link in the last place leads to. */
export const listFlags: number = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** Flags that open a file for reading: never through a link in the last place, without waiting for the other end of a fifo, never taking a terminal. */
export const readFlags: number = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

type Kind = 'file' | 'directory' | 'link' | 'other';

/** What stands behind a name, the name itself not being followed; the caller closes the directory. */
export type Child =
  | { readonly kind: 'directory'; readonly directory: HeldDirectory }
  | { readonly kind: Exclude<Kind, 'directory'> };

/** A regular file, whose descriptor the caller closes, or what else stands behind the name. */
export type OpenedChild = { readonly kind: 'file'; readonly fd: number } | { readonly kind: Exclude<Kind, 'file'> };

/**
 * One directory. Names have no separator and are never `.` or `..`. Refusals of the system are thrown as they are: `isObstacle` for a link or a
 * file where a directory belongs. The caller closes it.
 */
export class HeldDirectory {
  /** Is null without /proc. */
  readonly fd: number | null;
  readonly #path: string;

  private constructor(fd: number | null, path: string) {
    this.fd = fd;
    this.#path = path;
  }

  /** Takes over a descriptor: `/proc/self/fd/<fd>/<name>` is one step from the directory, whatever became of its path. */
  static of(fd: number): HeldDirectory {
    return new HeldDirectory(fd, `/proc/self/fd/${fd}/.`);
  }

  /** For hosts without /proc: by its canonical path, which is checked before each use. Another process can win a race against that. */
  static checked(path: string): HeldDirectory {
    return new HeldDirectory(null, path);
  }

  /** The directory that a path of the operator's leads to; links in it are followed. */
  static at(path: string): HeldDirectory {
    if (existsSync('/proc/self/fd')) return HeldDirectory.of(openSync(path, O_PATH | O_DIRECTORY));
    return HeldDirectory.checked(realpathSync(path));
  }

  /** The directory at a canonical absolute path: no link is followed in any part of it. With a mode, what is missing of it is made. */
  static open(path: string, makeMode?: number): HeldDirectory {
    return walk(HeldDirectory.at('/'), resolve(path), makeMode);
  }

  /** A path that means this very directory, until it is closed. */
  get path(): string {
    if (this.fd === null && realpathSync(this.#path) !== this.#path) throw linkOnTheWay(this.#path);
    return this.#path;
  }

  /** A path for one operation that does not itself follow the last part. */
  entry(name: string): string {
    return `${this.path}/${name}`;
  }

  /** The same directory, held once more. */
  again(): HeldDirectory {
    return this.fd === null
      ? HeldDirectory.checked(this.#path)
      : HeldDirectory.of(openSync(this.path, O_PATH | O_DIRECTORY));
  }

  /** The directory at a relative path without `..`, in the way of `open`. */
  below(path: string, makeMode?: number): HeldDirectory {
    return walk(this.again(), path, makeMode);
  }

  /** The directory of that name. With a mode, it is made where nothing is. */
  enter(name: string, makeMode?: number): HeldDirectory {
    try {
      return this.#enter(name);
    } catch (error) {
      if (makeMode === undefined || !isErrno(error, 'ENOENT')) throw error;
    }
    try {
      mkdirSync(this.entry(name), { mode: makeMode });
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
    }
    return this.#enter(name);
  }

  #enter(name: string): HeldDirectory {
    const entry = this.entry(name);
    if (this.fd !== null) return HeldDirectory.of(openSync(entry, O_PATH | O_DIRECTORY | O_NOFOLLOW));
    closeSync(openSync(entry, listFlags));
    return HeldDirectory.checked(resolve(entry));
  }

  child(name: string): Child {
    const { kind, place, path } = this.#look(name);
    if (kind === 'directory') {
      return { kind, directory: place === null ? HeldDirectory.checked(resolve(path)) : HeldDirectory.of(place) };
    }
    if (place !== null) closeSync(place);
    return { kind };
  }

  /** Opens a regular file and nothing else: a device is never opened to find out. */
  openFile(name: string, flags: number = O_RDONLY): OpenedChild {
    const { kind, place, path } = this.#look(name);
    try {
      if (kind !== 'file') return { kind };
      const fd = openSync(path, flags | O_NONBLOCK | (place === null ? O_NOFOLLOW : 0));
      if (fstatSync(fd).isFile()) return { kind, fd };
      closeSync(fd);
      return { kind: 'other' };
    } finally {
      if (place !== null) closeSync(place);
    }
  }

  /**
   * Makes a regular file of that name and opens it with `flags`: never through a link. Throws `EEXIST` for a name that stands for anything. The
   * caller closes the descriptor.
   */
  createFile(name: string, flags: number, mode: number): number {
    return openSync(this.entry(name), flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  }

  /** What a name stands for, and a path that means it: that of a descriptor, or without /proc the name itself. */
  #look(name: string): { readonly kind: Kind; readonly place: number | null; readonly path: string } {
    const entry = this.entry(name);
    if (this.fd === null) return { kind: kindOf(lstatSync(entry)), place: null, path: entry };
    const place = openSync(entry, O_PATH | O_NOFOLLOW);
    return { kind: kindOf(fstatSync(place)), place, path: `/proc/self/fd/${place}` };
  }

  /** The bytes of a regular file; null for one that has more than `maxBytes`, and for anything else. */
  readFile(name: string, maxBytes: number): Buffer | null {
    const found = this.openFile(name);
    if (found.kind !== 'file') return null;
    try {
      return readFileUpTo(found.fd, maxBytes) ?? null;
    } finally {
      closeSync(found.fd);
    }
  }

  close(): void {
    if (this.fd !== null) closeSync(this.fd);
  }
}

/** Whether the system refused because a link or a file stands where a directory belongs. */
export function isObstacle(error: unknown): boolean {
  return isErrno(error, 'ELOOP', 'ENOTDIR');
}

/** Takes over `from`. */
function walk(from: HeldDirectory, path: string, makeMode?: number): HeldDirectory {
  let held = from;
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue;
    const parent = held;
    try {
      if (name === '..') throw new Error(`${path} leads out of its directory`);
      held = parent.enter(name, makeMode);
    } finally {
      parent.close();
    }
  }
  return held;
}

function kindOf(stat: Stats): Kind {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  return stat.isSymbolicLink() ? 'link' : 'other';
}

function linkOnTheWay(path: string): Error {
  return Object.assign(new Error(`ELOOP: a link has come to be on the way, open '${path}'`), {
    code: 'ELOOP',
    syscall: 'open',
  });
}
