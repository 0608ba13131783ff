/** Keeps secrets out of what is printed and written. */

import type { Secret } from './secret.ts';

const mark = '[secret]';
const shortestSecret = 4;

/** Takes the known secrets out of text that is to be printed or kept. */
export class Redactor {
  /** Longest first, so that a secret within another does not leave the rest of it behind. */
  #spellings: string[] = [];

  /**
   * From now on the value of `secret` is replaced, also as JSON text, JSON within JSON and a URL part spell it. One of fewer than four characters is no
   * secret, and replacing it would leave no text readable: it is ignored.
   */
  register(secret: Secret): void {
    const value = secret.reveal();
    if (value.length < shortestSecret) return;
    const json = inJson(value);
    const spellings = [value, json, inJson(json), encodeURIComponent(Buffer.from(value).toString())];
    this.#spellings = [...new Set([...this.#spellings, ...spellings])].toSorted((a, b) => b.length - a.length);
  }

  redact(text: string): string {
    let rest = text;
    // Nearly no text holds one: looking for it costs a fraction of replacing it.
    for (const spelling of this.#spellings) if (rest.includes(spelling)) rest = rest.replaceAll(spelling, () => mark);
    return rest;
  }
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
