/** Looks up what lines of the trace and tasks came to: at the server of the page, or in what the page holds. */

import type { HeldAnswer } from '@svc/protocol/viewed-session.ts';
import { ask, faultOf, headersOf, heldBytes, type Served, SourceFault } from './byte-sources.ts';

/** The answer at a path of the session; undefined for one that the page does not hold. */
export type Texts = (path: string) => Promise<HeldAnswer[1] | undefined>;

/** Rejects with a `SourceFault`. */
export function servedTexts(place: Served): Texts {
  return async (path) => {
    const answer = await ask(place.base + path, { headers: headersOf(place) });
    if (!answer.ok) throw new SourceFault(await faultOf(answer));
    return (await answer.json()) as HeldAnswer[1];
  };
}

/** Of an exported page, which may hold none. */
export function heldTexts(base64: string | null): Texts {
  let texts: Promise<ReadonlyMap<string, HeldAnswer[1]>> | null = null;
  return async (path) => (await (texts ??= read(base64))).get(path);
}

async function read(base64: string | null): Promise<ReadonlyMap<string, HeldAnswer[1]>> {
  if (base64 === null) return new Map();
  const lines = await new Response(heldBytes(base64)).text();
  return new Map(lines.split('\n', -1).flatMap((line) => (line === '' ? [] : [JSON.parse(line) as HeldAnswer])));
}
