/** Holds a secret so that no log shows it by accident. */

import { inspect } from 'node:util';

const shown = '[secret]';

/** A value that never appears when printed, inspected or turned into JSON; only `reveal` gives it out. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the one place that sends it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}
