/** Hides the masked files of a directory from a component. */

import { fstatSync, lstatSync } from 'node:fs';

import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { isMaskedName } from '@svc/kit/files/masked-names.ts';
import { refuse } from './error-code.ts';

/** What a component is refused of a directory: names, and objects that have other names too. */
export class Mask {
  readonly #objects: ReadonlySet<string>;
  readonly #names: ReadonlySet<string>;
  readonly #fixed: ReadonlySet<string>;
  /** Names that are masked in some directory. */
  readonly #entries: ReadonlySet<string>;

  /**
   * `objects` are `<device>:<inode>` each, or `<device>:<inode>/<name>` for whatever has that name in a directory, like `fixed`, which stay where they are;
   * `names` are masked beside the usual ones, in any case.
   */
  constructor(objects: readonly string[], names: readonly string[] = [], fixed: readonly string[] = []) {
    this.#fixed = new Set(fixed);
    this.#objects = new Set(objects);
    this.#names = new Set(names);
    this.#entries = new Set(objects.flatMap((each) => (each.includes('/') ? [each.slice(each.indexOf('/') + 1)] : [])));
  }

  /** Ends the call of the component with `access` for a name that is masked, in this directory or in any. */
  checkName(name: string, { path }: HeldDirectory): void {
    if (isMaskedName(name) || this.#names.has(name.toLowerCase())) refuse('access');
    if (this.#entries.has(name) && this.#objects.has(`${objectName(lstatSync(path, { bigint: true }))}/${name}`))
      refuse('access');
  }

  checkDirectory({ path }: HeldDirectory): void {
    if (this.#objects.size > 0) this.#check(lstatSync(path, { bigint: true }));
  }

  /** Ends the call with `access` for an entry that is to be renamed, removed or replaced, and stays where it is. */
  checkChange(entry: string): void {
    if (this.#fixed.size === 0) return;
    const found = lstatSync(entry, { bigint: true, throwIfNoEntry: false });
    if (found !== undefined && this.#fixed.has(objectName(found))) refuse('access');
  }

  checkFile(descriptor: number): void {
    if (this.#objects.size > 0) this.#check(fstatSync(descriptor, { bigint: true }));
  }

  #check(found: ObjectNumbers): void {
    if (this.#objects.has(objectName(found))) refuse('access');
  }
}

interface ObjectNumbers {
  readonly dev: bigint;
  readonly ino: bigint;
}

function objectName({ dev, ino }: ObjectNumbers): string {
  return `${dev}:${ino}`;
}
