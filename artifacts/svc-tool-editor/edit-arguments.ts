/** Reads the arguments of one call of the editor. */

import { countIn, textIn, type JsonObject } from '@svc/guest/json.ts';
import { FileFault, treePath } from './file-tree.ts';

/** The arguments of one call. Their types have passed the schema; which of them a command needs is checked here. */
export class EditArguments {
  readonly #values: JsonObject;

  constructor(values: JsonObject) {
    this.#values = values;
  }

  /** A text the command cannot do without; it may be empty. */
  text(name: string): string {
    if (typeof this.#values[name] !== 'string') throw new FileFault(`${name} is missing`);
    return textIn(this.#values, name);
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  line(name: string): number | null {
    return countIn(this.#values, name);
  }

  /** A path that names something below the top. */
  filePath(): string {
    const path = treePath(this.text('path'));
    if (path === '') throw new FileFault('path must name a file');
    return path;
  }

  /** A path that is the top when it is left out. */
  anyPath(): string {
    return this.#values['path'] === undefined ? '' : treePath(this.text('path'));
  }
}
