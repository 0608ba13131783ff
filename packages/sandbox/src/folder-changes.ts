/** Looks what became of a project folder while a task could write in it, without asking a program of the folder's. */

import { lstatSync } from 'node:fs';

import type { Clock } from '@svc/kit/clock.ts';
import { isMaskedName } from '@svc/kit/files/masked-names.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { below, type ByteEntry, eachEntryIn, textOf } from './byte-names.ts';
import { hiddenFiles } from './git-index.ts';
import { isObeyedByGit, isWrittenByGit } from './kept-git.ts';
import { isPutAside, type StartNames } from './made-repositories.ts';

/** Some of the names, and how many there are. */
export interface Told {
  readonly names: readonly string[];
  readonly count: number;
}

/** Paths are below the folder; their bytes are read as UTF-8. */
export interface FolderChanges {
  readonly changed: Told;
  readonly made: Told;
  readonly removed: Told;
  /** New or changed files that other programs obey: `svc.yaml`, `.svc`, `.git`, and what of `.git` git does not write as it works. */
  readonly obeyed: Told;
  /** Files whose changes git has been set not to look for since the beginning. */
  readonly hidden: Told;
  /** Why this may not be all; null if it is. */
  readonly unseen: string | null;
}

interface FolderStart {
  readonly path: string;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  /** Is null if there are too many. */
  readonly names: StartNames | null;
  /** The directory of its repository. */
  readonly git: string;
}

/** Names that are reported of each kind; names to look at, which are few. */
const maxNames = 5;
const maxObeyed = 20;
/** What is remembered of the beginning, and looked at in the end. */
export const maxEntries = 200_000;
const maxMs = 5000;
/** Two changes within one tick of the kernel's clock show the same time. */
const tickMs = 50;

/** What a folder was like when a session began. */
export class FolderAtStart {
  readonly #start: FolderStart;
  readonly #atMs: number;
  readonly #monotonicMs: number;
  readonly #hidden: ReadonlySet<string> | null;

  constructor(start: FolderStart) {
    this.#start = start;
    this.#atMs = start.clock.now() - tickMs;
    this.#monotonicMs = start.clock.monotonicMs();
    this.#hidden = hiddenFiles(start.git);
  }

  changes(): FolderChanges {
    const { path, clock, names, git } = this.#start;
    const startedMs = clock.monotonicMs();
    const isOver = (): boolean => clock.monotonicMs() - startedMs > maxMs;
    const look = new Look({ path, start: names ?? new Map(), sinceMs: this.#atMs, isOver });
    const isWhole = names !== null && look.all();
    const wasSetBack = clock.now() - this.#atMs < clock.monotonicMs() - this.#monotonicMs - 1000;
    const hidden = hiddenFiles(git);
    const told = look.told(isWhole);
    for (const each of hidden ?? []) if (this.#hidden?.has(each) !== true) told.hidden.add(each);
    const unseen = [
      ...(isWhole ? [] : [`the folder holds more than svc looks at, ${maxEntries} files or ${maxMs / 1000} seconds`]),
      ...(look.unread.count === 0 ? [] : [`${look.unread.names.join(', ')} cannot be read`]),
      ...(wasSetBack ? ['the clock was set back meanwhile'] : []),
      ...(hidden === null ? ['.git/index cannot be read'] : []),
    ];
    return { ...told, unseen: unseen.length === 0 ? null : unseen.join(', and ') };
  }
}

/** Counts, and remembers the first. */
class Names implements Told {
  readonly names: string[] = [];
  readonly #most: number;
  count = 0;

  constructor(most = maxNames) {
    this.#most = most;
  }

  add(path: string): void {
    this.count += 1;
    if (this.names.length < this.#most) this.names.push(textOf(path));
  }
}

interface LookRequest {
  readonly path: string;
  readonly start: StartNames;
  readonly sinceMs: number;
  /** Whether the time for it is over. */
  readonly isOver: () => boolean;
}

class Look {
  readonly #root: string;
  readonly #start: StartNames;
  readonly #sinceMs: number;
  readonly #seen = new Set<string>();
  readonly #changed = new Names();
  readonly #made = new Names();
  readonly #removed = new Names();
  readonly #obeyed = new Names(maxObeyed);
  /** Which directories could not be. */
  readonly unread = new Names();
  entries = 0;
  readonly #isOver: () => boolean;

  constructor({ path, start, sinceMs, isOver }: LookRequest) {
    this.#isOver = isOver;
    this.#root = Buffer.from(path).toString('latin1');
    this.#start = start;
    this.#sinceMs = sinceMs;
  }

  /** Those above others first; false where it stopped before the end. */
  all(): boolean {
    const waiting = [''];
    for (const path of waiting) {
      const before = this.#start.get(path);
      const known = new Set(before?.names);
      this.#seen.add(path);
      for (const entry of this.#read(path)) {
        const { name } = entry;
        const place = below(path, name);
        if (isPutAside(name)) continue;
        else if (name.toLowerCase() === '.git')
          this.#repository(place, { wasThere: known.has(name), isDirectory: entry.kind === 'directory' });
        else if (entry.kind === 'directory' && !isMaskedName(name)) waiting.push(place);
        else this.#file(place, { name, isNew: !known.has(name) });
        known.delete(name);
      }
      if (this.#isEnough()) return false;
      for (const directory of before?.directories ?? []) known.delete(directory);
      for (const name of known) this.#removed.add(below(path, name));
    }
    return true;
  }

  #isEnough(): boolean {
    return this.entries > maxEntries || (this.entries % 256 === 0 && this.#isOver());
  }

  told(isWhole: boolean): Record<'changed' | 'made' | 'removed' | 'obeyed' | 'hidden', Names> {
    if (isWhole) this.#removedDirectories();
    const [changed, made, removed, obeyed] = [this.#changed, this.#made, this.#removed, this.#obeyed];
    return { changed, made, removed, obeyed, hidden: new Names() };
  }

  #removedDirectories(): void {
    for (const [path, { names, directories }] of this.#start) {
      if (this.#seen.has(path) || /(?:^|\/)\.git(?:\/|$)/i.test(path)) continue;
      const within = new Set(directories);
      for (const name of names) if (!within.has(name)) this.#removed.add(`${path}/${name}`);
    }
  }

  *#read(path: string): Generator<ByteEntry> {
    const entries = unlessRefused(() => eachEntryIn(this.#bytes(path)), null);
    if (entries === null) return this.unread.add(path);
    for (const entry of entries) {
      if (this.#isEnough()) return;
      this.entries += 1;
      yield entry;
    }
  }

  #file(place: string, { name, isNew }: { readonly name: string; readonly isNew: boolean }): void {
    const isChanged = !isNew && this.#isChanged(place);
    if (!isNew && !isChanged) return;
    (isNew ? this.#made : this.#changed).add(place);
    if (name === 'svc.yaml' || (name === '.svc' && isNew)) this.#obeyed.add(place);
  }

  #bytes(path: string): Buffer {
    return Buffer.from(path === '' ? this.#root : below(this.#root, path), 'latin1');
  }

  #isChanged(place: string): boolean {
    const stat = unlessRefused(() => lstatSync(this.#bytes(place)), null);
    return stat !== null && !stat.isDirectory() && stat.ctimeMs >= this.#sinceMs;
  }

  /** Git itself writes in it all the time: only names that it does not write are reported. */
  #repository(place: string, { wasThere, isDirectory }: Record<'wasThere' | 'isDirectory', boolean>): void {
    if (!wasThere || (!isDirectory && this.#isChanged(place))) return this.#obeyed.add(place);
    if (!isDirectory) return;
    const known = new Set(this.#start.get(place)?.names);
    for (const { name } of this.#read(place)) {
      if (!known.has(name) && !isObeyedByGit(name) && !isWrittenByGit(name)) this.#obeyed.add(`${place}/${name}`);
    }
  }
}
