/** Has the session decide about each change of a file, by the path at which it is about to happen. */

import { fstatSync, lstatSync, readlinkSync } from 'node:fs';

import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { attempt, refuse } from './error-code.ts';
import { type Located, placeOf } from './locate.ts';

/** What is about to be changed, as the session is asked. Paths are as the component sees them, without the `/` before them. */
export interface Change {
  /** `write` opens a file for writing, or makes it; `directory` makes or removes an empty one. */
  readonly operation: 'write' | 'remove' | 'rename' | 'link' | 'directory';
  readonly path: string;
  /** Where a rename leads; else null. */
  readonly to: string | null;
  /** It is a directory that is renamed, with all below it, or a link, which leads elsewhere. */
  readonly isTree: boolean;
  /** The file that is opened has other names too. */
  readonly isLinked: boolean;
}

interface DecidedRules {
  /** The preopened directory. */
  readonly root: HeldDirectory;
  /** A path below it as the component sees it. */
  readonly shown: (path: string) => string;
  /** Waits for the session, and for a person where that asks one. */
  readonly mayChange: (change: Change) => boolean;
  readonly onRefused: (path: string, code: string) => void;
}

/** Goes on if this very change was decided, and throws otherwise. Nothing may have been changed before. */
export type Permit = (from: Located, to?: Located) => void;

/** While an answer was waited for, something came to lie elsewhere: so often is the new place decided. */
const maxMoves = 8;

let calls = 0;

/** A call of the component begins: what was opened for writing in another one is not written through any more. */
export function beginChanging(): void {
  calls += 1;
}

class Undecided extends Error {
  readonly change: Change;

  constructor(change: Change) {
    super('a change is not decided yet');
    this.change = change;
  }
}

/** The changes below one preopened directory. */
export class DecidedChanges {
  readonly #rules: DecidedRules;

  constructor(rules: DecidedRules) {
    this.#rules = rules;
  }

  /**
   * Runs `change`, which walks to its places and calls its argument right before it changes something. While the session is asked, no place is held:
   * `change` then runs anew, and goes through if it comes to the places that were decided.
   */
  decided<Result>(operation: Change['operation'], change: (permit: Permit) => Result): Result {
    const decided = new Set<string>();
    for (let moves = 0; moves <= maxMoves; moves += 1) {
      try {
        return change((from, to) => {
          const asked = this.#changeAt(operation, from, to);
          if (!decided.has(JSON.stringify(asked))) throw new Undecided(asked);
        });
      } catch (error) {
        if (!(error instanceof Undecided)) throw error;
        this.#ask(error.change);
        decided.add(JSON.stringify(error.change));
      }
    }
    return refuse('busy');
  }

  #ask(change: Change): void {
    if (this.#rules.mayChange(change)) return;
    this.#rules.onRefused(change.path, 'not-permitted');
    refuse('not-permitted');
  }

  #changeAt(operation: Change['operation'], from: Located, to: Located | undefined): Change {
    const found = attempt(() => lstatSync(placeOf(from), { throwIfNoEntry: false }));
    const isFile = found?.isFile() === true;
    return {
      operation,
      path: this.#pathOf(from),
      to: to === undefined ? null : this.#pathOf(to),
      isTree: operation === 'link' || (operation === 'rename' && !isFile),
      isLinked: operation === 'write' && isFile && found.nlink > 1,
    };
  }

  #pathOf({ directory, name }: Located): string {
    const [root, held] = [realPath(this.#rules.root), realPath(directory)];
    const start = root === '/' ? root : `${root}/`;
    if (held !== root && !held.startsWith(start)) refuse('not-permitted');
    const below = held === root ? '' : held.slice(start.length);
    return this.#rules.shown([below, name ?? ''].filter((part) => part !== '').join('/'));
  }
}

/** Whether the call that opens a file for writing still goes on. */
export function untilNextCall(): () => boolean {
  const own = calls;
  return () => own === calls;
}

/** Where a directory lies now, whatever led there. */
function realPath(directory: HeldDirectory): string {
  const { fd } = directory;
  if (fd === null) return directory.path;
  return attempt(() => {
    const path = decodeStrictUtf8(readlinkSync(`/proc/self/fd/${fd}`, 'buffer')) ?? refuse('illegal-byte-sequence');
    const held = fstatSync(fd, { bigint: true });
    // The path of a directory that is gone leads nowhere, or to another one.
    const found = lstatSync(path, { bigint: true });
    return held.dev === found.dev && held.ino === found.ino ? path : refuse('no-entry');
  });
}
