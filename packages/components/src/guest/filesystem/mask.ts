/** Keeps what is masked in a directory from a component. */

import { fstatSync, lstatSync } from 'node:fs';

import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { isMaskedName } from '@svc/kit/files/masked-names.ts';
import { refuse } from './error-code.ts';

/** What of a directory a component is refused: names, and objects that have other names too. */
export class Mask {
  readonly #objects: ReadonlySet<string>;
  readonly #names: ReadonlySet<string>;

  /** `objects` are `<device>:<inode>` each; `names` are masked beside the usual ones, in any case. */
  constructor(objects: readonly string[], names: readonly string[] = []) {
    this.#objects = new Set(objects);
    this.#names = new Set(names);
  }

  /** Ends the call of the component with `access` for a name that is masked. */
  checkName(name: string): void {
    if (isMaskedName(name) || this.#names.has(name.toLowerCase())) refuse('access');
  }

  checkDirectory({ path }: HeldDirectory): void {
    if (this.#objects.size > 0) this.#check(lstatSync(path, { bigint: true }));
  }

  checkFile(descriptor: number): void {
    if (this.#objects.size > 0) this.#check(fstatSync(descriptor, { bigint: true }));
  }

  #check({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): void {
    if (this.#objects.has(`${dev}:${ino}`)) refuse('access');
  }
}
