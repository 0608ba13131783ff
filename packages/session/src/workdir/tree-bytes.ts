/** Counts the bytes that a directory tree takes. */

import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  type Dir,
  type Dirent,
  type Stats,
} from 'node:fs';

import { isErrno, isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { type HeldDirectory, isObstacle, listFlags } from '@svc/kit/files/held-directory.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';

/** Each level is held open while what is below it is counted. */
const deepest = 256;
/** Empty files cost an agent next to nothing, and a walk time. */
const maxEntries = 10_000_000;
/** A file may take so much more than its size: the file system rounds. */
const rounding = 64 * 1024;
/** More such space of all files, and that of directories and links, counts: what costs little once may be made a million times. */
const leftOutBytes = 64 * 1024 * 1024;

/** Why a tree cannot be measured, as a clause for a person. */
export class UnmeasurableTree extends Error {}

/**
 * Counts the bytes of the regular files below an open directory, and all but 64 MiB of what else takes space there. It reaches everything by
 * one name from an open directory, so that neither the length of a path nor a link that is put on the way changes what is counted. Yields
 * often, so that the caller can do other work in between; gives the sum. Throws `UnmeasurableTree` for what cannot be looked at, except a
 * directory of another user that this user (`uid`) may not enter: no process of this user puts anything there.
 */
export function* treeBytes(root: HeldDirectory, uid: number): Generator<void, number> {
  const levels: Level[] = [];
  const taken = new TakenBytes();
  let entries = 0;
  try {
    for (let level = enter(Buffer.from(root.path), '.', uid); level !== null || levels.length > 0;) {
      if (level !== null) {
        levels.push(level);
        taken.addOther(level.facts());
      }
      level = null;
      const current = levels.at(-1);
      const entry = current?.next() ?? null;
      if (current === undefined || entry === null) {
        levels.pop()?.close();
        continue;
      }
      yield;
      entries += 1;
      if (entries > maxEntries) throw new UnmeasurableTree(`it holds more than ${maxEntries} files and directories`);
      if (!entry.isDirectory()) {
        if (entry.isFile() || entry.isSymbolicLink()) taken.add(factsAt(current, entry.name));
        continue;
      }
      if (levels.length === deepest) {
        throw new UnmeasurableTree(`${cut(current.shown(entry.name))} is more than ${deepest} directories deep`);
      }
      level = enter(current.at(entry.name), current.shown(entry.name), uid);
      // Something else has come to be there.
      if (level === null) taken.add(factsAt(current, entry.name));
    }
    return taken.bytes;
  } finally {
    for (const level of levels) level.close();
  }
}

interface Entry extends Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'> {
  /** Its bytes: an agent may give it any but a slash and NUL. */
  readonly name: Buffer;
}

/** A directory that is being counted. */
class Level {
  readonly #shown: string;
  readonly #fd: number;
  readonly #below: Buffer;
  readonly #directory: Dir;

  constructor(path: Buffer, shown: string) {
    this.#shown = shown;
    this.#fd = openSync(path, listFlags);
    try {
      const own = `/proc/self/fd/${this.#fd}`;
      const reached = existsSync(own) ? Buffer.from(own) : path;
      this.#below = Buffer.concat([reached, Buffer.from('/')]);
      // Made into text and back, a name that is no UTF-8 would be that of nothing.
      this.#directory = opendirSync(reached, { bufferSize: 256, encoding: 'buffer' as BufferEncoding });
    } catch (error) {
      closeSync(this.#fd);
      throw error;
    }
  }

  next(): Entry | null {
    try {
      return this.#directory.readSync() as unknown as Entry | null;
    } catch (error) {
      throw unmeasurable(error, this.#shown);
    }
  }

  at(name: Buffer): Buffer {
    return Buffer.concat([this.#below, name]);
  }

  facts(): Stats {
    return fstatSync(this.#fd);
  }

  /** The way from the root, for a person. */
  shown(name: Buffer): string {
    return this.#shown === '.' ? name.toString() : `${this.#shown}/${name.toString()}`;
  }

  close(): void {
    this.#directory.closeSync();
    closeSync(this.#fd);
  }
}

/** Returns null when no directory is there any more, or none that holds anything of this user's. */
function enter(path: Buffer, shown: string, uid: number): Level | null {
  try {
    return new Level(path, shown);
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isObstacle(error)) return null;
    if (isErrno(error, 'EACCES') && isClosedToUser(path, uid)) return null;
    throw unmeasurable(error, shown);
  }
}

function isClosedToUser(path: Buffer, uid: number): boolean {
  try {
    if (lstatSync(path).uid === uid) return false;
  } catch {
    // The workdir itself without the right to enter it: whose it is does not show, and an agent may have taken the right away.
    return false;
  }
  try {
    lstatSync(Buffer.concat([path, Buffer.from('/.')]));
    return false;
  } catch (error) {
    return isErrno(error, 'EACCES');
  }
}

/** Returns null for what is gone. */
function factsAt(level: Level, name: Buffer): Stats | null {
  try {
    return lstatSync(level.at(name), { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw unmeasurable(error, level.shown(name));
  }
}

/** What the entries of a tree take together. */
class TakenBytes {
  #files = 0;
  #beside = 0;

  add(found: Stats | null): void {
    if (found?.isFile() === true) {
      const bytes = bytesTaken(found);
      this.#files += bytes;
      this.#beside += Math.max(0, found.blocks * 512 - bytes);
    } else if (found !== null) this.addOther(found);
  }

  addOther({ blocks }: Pick<Stats, 'blocks'>): void {
    this.#beside += blocks * 512;
  }

  get bytes(): number {
    return this.#files + Math.max(0, this.#beside - leftOutBytes);
  }
}

/** The size of a file; of one for which a program had more space set aside, that. */
export function bytesTaken({ size, blocks }: Pick<Stats, 'size' | 'blocks'>): number {
  const taken = blocks * 512;
  return taken > size + rounding ? taken : size;
}

function unmeasurable(error: unknown, shown: string): unknown {
  if (!isSystemError(error)) return error;
  return new UnmeasurableTree(`${cut(shown)} cannot be looked at: ${systemReason(error)}`);
}

function cut(path: string): string {
  return shortened(path, 200);
}
