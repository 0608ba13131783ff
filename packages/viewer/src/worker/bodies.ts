/** Fetches the texts of a journal by their hashes, from the server of the page or from the page itself. */

import type { ShownText } from '../messages.ts';
import { ask, SourceFault } from './byte-sources.ts';

/** What a page shows of one text. */
export const mostShown = 1024 * 1024;
/** Characters of texts that are kept for the next time. */
const mostKept = 16 * 1024 * 1024;

export type Body = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'none'; readonly why: string };

export class Bodies {
  readonly #fetch: (sha256: string) => Promise<Body>;
  readonly #kept = new Map<string, Promise<Body>>();
  #keptCharacters = 0;

  constructor(fetch: (sha256: string) => Promise<Body>) {
    this.#fetch = fetch;
  }

  async get(sha256: string): Promise<Body> {
    const known = this.#kept.get(sha256);
    if (known !== undefined) return await known;
    const asked = this.#fetch(sha256);
    this.#kept.set(sha256, asked);
    const body = await asked;
    if (body.kind === 'none') this.#kept.delete(sha256);
    else this.#keptCharacters += body.text.length;
    if (this.#keptCharacters > mostKept) {
      this.#kept.clear();
      this.#keptCharacters = 0;
    }
    return body;
  }
}

/** A body as far as it is shown. */
export function shown(body: Body): ShownText {
  return body.kind === 'text' ? shownText(body.text) : body;
}

export function shownText(text: string): ShownText {
  return { kind: 'text', text: text.slice(0, mostShown), more: Math.max(0, text.length - mostShown) };
}

/** Asks the server of the page. */
export function servedBodies(base: string, headers: Readonly<Record<string, string>>): Bodies {
  return new Bodies(async (sha256) => {
    let answer: Response;
    try {
      answer = await ask(`${base}body/${sha256}`, { headers });
    } catch (error) {
      if (!(error instanceof SourceFault)) throw error;
      return { kind: 'none', why: error.message };
    }
    if (answer.ok) return { kind: 'text', text: await answer.text() };
    return {
      kind: 'none',
      why: answer.status === 404 ? notKept : `The server of this page answered ${answer.status}.`,
    };
  });
}

export const notKept = 'Not kept: the session recorded hashes and sizes of texts alone, or the text was too long.';

/** Looks into what an exported page holds: a line of JSON for each text. */
export function heldBodies(lines: () => Promise<ReadonlyMap<string, string>>): Bodies {
  return new Bodies(async (sha256) => {
    const text = (await lines()).get(sha256);
    return text === undefined
      ? { kind: 'none', why: 'Not in this file: it was exported without texts, or without this one.' }
      : { kind: 'text', text };
  });
}
