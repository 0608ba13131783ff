/** Removes a directory with all that is in it, while others who may write there try to lead the removal elsewhere. */

import { chmodSync, closeSync, constants, openSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';

import { listFlags, O_PATH } from './held-directory.ts';
import { temporaryName } from './temporary-name.ts';
import { unlessErrno, unlessRefused, unlessRefusedLater } from './unless-refused.ts';

/** What lies deeper is moved to the top first: each level that is looked at holds a descriptor. */
const mostLevels = 32;
const mostPasses = 5;
/** Stops after this many entries, so that a process that keeps writing cannot keep it busy for ever. */
const mostEntries = 5_000_000;
const entriesBetweenTurns = 500;

/**
 * Every step starts at an open directory and follows no link, so nothing outside is touched whatever is put in place of what. Linux only. What
 * is in directories of ours is removed whatever their modes say. Returns whether all is gone: not where the system refuses, as for directories of somebody
 * else, or where others go on writing.
 */
export async function removeTree(directory: string): Promise<boolean> {
  return await unlessRefusedLater(async () => {
    const root = openSync(directory, listFlags);
    try {
      await new Removal(root).clear(root, 0);
    } finally {
      closeSync(root);
    }
    rmdirSync(directory);
    return true;
  }, false);
}

class Removal {
  readonly #root: number;
  #looked = 0;
  #moved = 0;

  constructor(root: number) {
    this.#root = root;
  }

  /** Removes what is in an open directory; what others add meanwhile is tried a few times. */
  async clear(directory: number, level: number): Promise<void> {
    let passes = 0;
    while (passes < mostPasses && this.#looked < mostEntries) {
      const moved = this.#moved;
      const names = readdirSync(`/proc/self/fd/${directory}`, { encoding: 'buffer' });
      if (names.length === 0) return;
      for (const name of names) await this.#remove(directory, name, level);
      // What was moved to the top is one more to be removed, and not what others have added.
      passes = level === 0 && this.#moved > moved ? 0 : passes + 1;
    }
  }

  async #remove(directory: number, name: Buffer, level: number): Promise<void> {
    this.#looked += 1;
    if (this.#looked % entriesBetweenTurns === 0) await setImmediate();
    const entry = Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]);
    if (isOver(() => unlinkSync(entry))) return;
    if (level >= mostLevels) {
      // What is moved to another directory has to be writable itself.
      openForChange(entry);
      if (isOver(() => renameSync(entry, `/proc/self/fd/${this.#root}/${temporaryName()}`))) this.#moved += 1;
      return;
    }
    openForChange(entry);
    const child = openedOrNull(entry);
    if (child === null) return;
    try {
      await this.clear(child, level + 1);
    } finally {
      closeSync(child);
    }
    isOver(() => rmdirSync(entry));
  }
}

/** Whether the operation succeeded or its target was gone. The next pass meets a refusal again, or the removal of the whole does. */
function isOver(operation: () => void): boolean {
  const done = (): true => {
    operation();
    return true;
  };
  return unlessRefused(() => unlessErrno(['ENOENT'], done, true), false);
}

/** Lets its owner read and change a directory: Go writes its modules into such as nobody may change. Held, so that no link is followed meanwhile. */
function openForChange(entry: Buffer): void {
  const held = unlessRefused(() => openSync(entry, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW), null);
  if (held === null) return;
  try {
    unlessRefused(() => chmodSync(`/proc/self/fd/${held}`, 0o700), undefined);
  } finally {
    closeSync(held);
  }
}

/** Null for what is not a directory, or not to be read. */
function openedOrNull(entry: Buffer): number | null {
  return unlessRefused(() => openSync(entry, listFlags), null);
}
