/** Fetches the texts of a journal by their hashes, from the server of the page or from the page itself. */

import type { ShownText } from '../messages.ts';
import { ask, headersOf, type Served, SourceFault } from './byte-sources.ts';

/** What a page shows of one text. */
export const mostShown = 1024 * 1024;

export type Body = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'none'; readonly why: string };
export type Bodies = (sha256: string) => Promise<Body>;

/** A body as far as it is shown. */
export function shown(body: Body): ShownText {
  return body.kind === 'text' ? shownText(body.text) : body;
}

export function shownText(text: string): ShownText {
  return { kind: 'text', text: text.slice(0, mostShown), more: Math.max(0, text.length - mostShown) };
}

/** Asks the server of the page. */
export function servedBodies(place: Served): Bodies {
  return async (sha256) => {
    let answer: Response;
    try {
      answer = await ask(`${place.base}body/${sha256}`, { headers: headersOf(place) });
    } catch (error) {
      if (!(error instanceof SourceFault)) throw error;
      return { kind: 'none', why: error.message };
    }
    if (answer.ok) return { kind: 'text', text: await answer.text() };
    return {
      kind: 'none',
      why: answer.status === 404 ? notKept : `The server of this page answered ${answer.status}.`,
    };
  };
}

const notKept = 'Not kept: the session recorded hashes and sizes of texts alone, or the text was too long.';

/** Looks into what an exported page holds: a line of JSON for each text. */
export function heldBodies(lines: () => Promise<ReadonlyMap<string, string>>): Bodies {
  return async (sha256) => {
    const text = (await lines()).get(sha256);
    return text === undefined
      ? { kind: 'none', why: 'Not in this file: it was exported without texts, or without this one.' }
      : { kind: 'text', text };
  };
}
