/** Counts the streams that each client of the doors has open. */

import { HttpRefusal } from '@svc/kit/http/refusal.ts';

/** Of one principal, over all doors together. */
const mostStreams = 256;

/** The open streams of all doors of a session. */
export class OpenStreams {
  readonly #counts = new Map<string, number>();

  /** Takes a place for a stream; the function gives it back, once. Throws the refusal 429 where the principal has none left. */
  take(principal: string): () => void {
    const open = this.#counts.get(principal) ?? 0;
    if (open >= mostStreams) {
      const message = `There are ${mostStreams} open streams of this client; close one and ask again.`;
      throw new HttpRefusal(429, 'too_many_streams', message, { 'retry-after': '5' });
    }
    this.#counts.set(principal, open + 1);
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      const left = (this.#counts.get(principal) ?? 1) - 1;
      if (left === 0) this.#counts.delete(principal);
      else this.#counts.set(principal, left);
    };
  }
}
