/** Removes a directory with all that is in it, while others who may write there try to lead the removal elsewhere. */

import {
  chmodSync,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { setImmediate } from 'node:timers/promises';

import { isSystemError, systemReason } from '../diagnostics/system-reason.ts';
import { O_PATH } from './held-directory.ts';
import { temporaryName } from './temporary-name.ts';
import { unlessRefused } from './unless-refused.ts';

/** What lies deeper is moved to the top first: each level that is looked at holds a descriptor. */
const maxLevels = 32;
/** How often all that is left is tried again, while the pass before removed something. */
const maxPasses = 5;
/** Stops after this many entries, so that a process that keeps writing cannot keep it busy for ever. */
const maxEntries = 5_000_000;
const entriesBetweenTurns = 500;
const stillWritten = 'it has too many entries, or others go on writing there';

/** The first thing that a removal met and could not remove. */
export interface LeftOver {
  /** Below the directory; '' for the directory itself. */
  readonly path: string;
  /** A clause for a person. */
  readonly reason: string;
}

/**
 * Every step starts at an open directory and follows no link, so nothing outside is touched whatever is put in place of what. Linux only. What
 * is in directories of ours is removed whatever their modes say; what is mounted there stays. Returns null once all is gone, and where nothing was. It
 * ends with what is left after a pass that removed nothing, as where a directory is somebody else's, and after five where others go on writing.
 */
export async function removeTree(directory: string): Promise<LeftOver | null> {
  const removal = new Removal();
  await removal.removeAll(Buffer.from(directory));
  return removal.left;
}

/** The names on the way to an entry, from the root on. */
type Way = readonly Buffer[];

class Removal {
  left: LeftOver | null = null;
  #root = -1;
  #mount = '';
  #looked = 0;
  #removed = 0;
  #moved = 0;

  async removeAll(directory: Buffer): Promise<void> {
    this.#attempt([], () => {
      this.#root = openForChange(directory, null);
    });
    if (this.#root === -1) return;
    try {
      this.#mount = mountOf(this.#root);
      await this.#clear();
    } finally {
      closeSync(this.#root);
    }
    if (this.left === null) this.#attempt([], () => rmdirSync(directory));
  }

  /** Removes what is in the root; what others add meanwhile is tried a few times. */
  async #clear(): Promise<void> {
    for (let passes = 0; passes < maxPasses;) {
      const [removed, moved] = [this.#removed, this.#moved];
      this.left = null;
      await this.#pass(this.#root, []);
      if (this.#removed === removed && this.#moved === moved) return;
      // What was moved to the top is one more to be removed, and not what others have added.
      passes = this.#moved > moved ? 0 : passes + 1;
    }
    this.left ??= { path: '', reason: stillWritten };
  }

  /** Tries once to remove each entry of an open directory. */
  async #pass(directory: number, way: Way): Promise<void> {
    let names: Buffer[] = [];
    this.#attempt(way, () => {
      names = readdirSync(`/proc/self/fd/${directory}`, { encoding: 'buffer' });
    });
    for (const name of names) {
      if (this.#looked === maxEntries) return this.#keep([], stillWritten);
      this.#looked += 1;
      if (this.#looked % entriesBetweenTurns === 0) await setImmediate();
      await this.#remove(Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]), [...way, name]);
    }
  }

  async #remove(entry: Buffer, way: Way): Promise<void> {
    const refusal = refusalOf(() => unlinkSync(entry));
    if (refusal === null) this.#removed += 1;
    if (refusal === null || refusal.code === 'ENOENT') return;
    let child = -1;
    const unopened = refusalOf(() => {
      child = openForChange(entry, this.#mount);
    });
    // What is no directory is left for the reason that its removal was refused.
    if (unopened !== null) return this.#keep(way, reasonOf(unopened.code === 'ENOTDIR' ? refusal : unopened));
    try {
      // What is moved to another directory has to be writable itself, and is since it was opened.
      if (way.length > maxLevels) {
        const top = `/proc/self/fd/${this.#root}/${temporaryName()}`;
        if (this.#attempt(way, () => renameSync(entry, top))) this.#moved += 1;
        return;
      }
      await this.#pass(child, way);
    } finally {
      closeSync(child);
    }
    if (this.#attempt(way, () => rmdirSync(entry))) this.#removed += 1;
  }

  /** Whether the system did it. What was gone already is not left. */
  #attempt(way: Way, operation: () => void): boolean {
    const refusal = refusalOf(operation);
    if (refusal !== null && refusal.code !== 'ENOENT') this.#keep(way, reasonOf(refusal));
    return refusal === null;
  }

  #keep(way: Way, reason: string): void {
    this.left ??= { path: way.map(String).join('/'), reason };
  }
}

function reasonOf(refusal: { readonly code: string }): string {
  return refusal.code === 'EBUSY' ? 'something is mounted there, or uses it' : systemReason(refusal);
}

function refusalOf(operation: () => void): (Error & { readonly code: string }) | null {
  try {
    operation();
    return null;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return error;
  }
}

/**
 * Opens a directory once its owner may read and change it: Go writes its modules into such as nobody may change. Held before that, so that no link is
 * followed meanwhile. Throws what the system refuses, and `EBUSY` for a directory that is not in `mount`.
 */
function openForChange(entry: Buffer, mount: string | null): number {
  const held = openSync(entry, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    if (mount !== null && mountOf(held) !== mount)
      throw Object.assign(new Error('EBUSY: something is mounted there'), { code: 'EBUSY', syscall: 'open' });
    const place = `/proc/self/fd/${held}`;
    unlessRefused(() => chmodSync(place, 0o700), undefined);
    return openSync(place, constants.O_RDONLY | constants.O_DIRECTORY);
  } finally {
    closeSync(held);
  }
}

/** Which mount an open directory is in; '' where the kernel does not say it. */
function mountOf(directory: number): string {
  const facts = unlessRefused(() => readFileSync(`/proc/self/fdinfo/${directory}`, 'latin1'), '');
  return /^mnt_id:\s*(\d+)$/m.exec(facts)?.[1] ?? '';
}
