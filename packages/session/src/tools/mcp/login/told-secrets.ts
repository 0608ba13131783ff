/** Says of the tokens of a server which are secrets now, so that no record holds them. */

import { Secret } from '@svc/kit/diagnostics/secret.ts';

export interface HeardSecrets {
  /** Called with each secret before it is used. */
  readonly onSecret: (secret: Secret) => void;
  /** Called with one of them that was replaced long ago, and opens nothing any more. */
  readonly onEnded: (secret: Secret) => void;
}

/** A capsule may stay up for months, and each secret costs memory, and time with every text. */
const mostTold = 50;

export class ToldSecrets {
  readonly #hearing: HeardSecrets;
  /** The oldest first. */
  readonly #told = new Set<string>();

  constructor(hearing: HeardSecrets) {
    this.#hearing = hearing;
  }

  /** The secrets that are in use now. */
  tell(now: readonly (string | null)[]): void {
    const { onSecret, onEnded } = this.#hearing;
    for (const each of now) {
      if (each === null) continue;
      if (!this.#told.has(each)) onSecret(new Secret(each));
      // Behind all others again.
      this.#told.delete(each);
      this.#told.add(each);
    }
    for (const each of this.#told) {
      if (this.#told.size <= mostTold) break;
      this.#told.delete(each);
      onEnded(new Secret(each));
    }
  }
}
