/** Walks a path below a granted directory, so that no `..` and no link leads out of it. */

import { readlinkSync } from 'node:fs';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import type { Child, HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { refuse } from './error-code.ts';
import type { Mask } from './mask.ts';

/** Where a path leads: a name in a directory, or the directory itself. The name may not exist. */
export interface Located {
  readonly directory: HeldDirectory;
  readonly name: string | null;
  /** The path ends in a slash, `.` or `..`: what is there has to be a directory. */
  readonly asDirectory: boolean;
}

/** Whether a link at the end is followed. A path that ends in a slash follows it anyway, except under `never`. */
export type LastLink = 'follow' | 'keep' | 'never';

const maxLinks = 40;
const maxPath = 4096;

/**
 * Walks `path` from `base` one name at a time and calls `use` at its end, while the directory there is held. `..` goes back
 * the way the walk came and never above `base`; a link is followed only when it is relative, by walking its target the same
 * way. What `use` does with the last name must not follow it.
 */
export function locate<Result>(
  base: HeldDirectory,
  path: string,
  {
    lastLink,
    mask = null,
    use,
  }: { readonly lastLink: LastLink; readonly mask?: Mask | null; readonly use: (located: Located) => Result },
): Result {
  const walk = new Walk(base, path, mask);
  try {
    return use(walk.toEnd(lastLink));
  } finally {
    walk.close();
  }
}

class Walk {
  readonly #held: HeldDirectory[] = [];
  readonly #base: HeldDirectory;
  /** Names still to go, the next one last. */
  readonly #ahead: string[] = [];
  readonly #asDirectory: boolean;
  readonly #mask: Mask | null;
  #links = 0;

  constructor(base: HeldDirectory, path: string, mask: Mask | null) {
    this.#base = base;
    this.#mask = mask;
    this.#asDirectory = /(^|\/)\.{0,2}$/.test(path);
    this.#push(path);
  }

  get #here(): HeldDirectory {
    return this.#held.at(-1) ?? this.#base;
  }

  toEnd(lastLink: LastLink): Located {
    const asDirectory = this.#asDirectory;
    const stopsBefore = lastLink === 'never' || (lastLink === 'keep' && !asDirectory);
    for (let name = this.#ahead.pop(); name !== undefined; name = this.#ahead.pop()) {
      const isLast = this.#ahead.length === 0;
      this.#mask?.checkName(name, this.#here);
      if (name === '..') this.#back();
      else if (isLast && stopsBefore) return { directory: this.#here, name, asDirectory };
      else if (this.#step(name, isLast) === 'arrived') return { directory: this.#here, name, asDirectory };
    }
    return { directory: this.#here, name: null, asDirectory };
  }

  /** One name on, or `arrived` when the walk ends at it. */
  #step(name: string, isLast: boolean): 'on' | 'arrived' {
    const child = this.#enter(name, isLast);
    switch (child?.kind) {
      case 'directory':
        this.#held.push(child.directory);
        this.#mask?.checkDirectory(child.directory);
        return 'on';
      case 'link':
        this.#follow(name);
        return 'on';
      case 'file':
      case 'other':
        return isLast && !this.#asDirectory ? 'arrived' : refuse('not-directory');
      case undefined:
        return 'arrived';
    }
  }

  #enter(name: string, isLast: boolean): Child | null {
    try {
      return this.#here.child(name);
    } catch (error) {
      if (isLast && isErrno(error, 'ENOENT')) return null;
      throw error;
    }
  }

  #follow(name: string): void {
    this.#links += 1;
    if (this.#links > maxLinks) refuse('loop');
    this.#push(readlinkSync(this.#here.entry(name)));
  }

  #back(): void {
    const left = this.#held.pop();
    if (left === undefined) refuse('not-permitted');
    left.close();
  }

  #push(path: string): void {
    if (path === '') refuse('no-entry');
    if (path.startsWith('/')) refuse('not-permitted');
    if (path.includes('\0')) refuse('invalid');
    if (path.length > maxPath) refuse('name-too-long');
    const names = path.split('/').filter((name) => name !== '' && name !== '.');
    this.#ahead.push(...names.toReversed());
  }

  close(): void {
    for (const directory of this.#held) directory.close();
  }
}

/** A path for one operation on what stands there, which must not follow it. */
export function placeOf({ directory, name }: Located): string {
  return name === null ? directory.path : directory.entry(name);
}

/** What stands there, which the caller closes; null for nothing. */
export function childAt({ directory, name }: Located): Child | null {
  if (name === null) return { kind: 'directory', directory: directory.again() };
  try {
    return directory.child(name);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}
