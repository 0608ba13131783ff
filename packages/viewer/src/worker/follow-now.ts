/** Follows what a running capsule does right now, as the server of the page reports it. */

import type { LiveNow } from '@svc/protocol/viewed-session.ts';
import { ask, BrokenStream, eachLine, headersOf, livesAgain, pause, type Served, SourceFault } from './byte-sources.ts';

const maxTries = 10_000;

/**
 * Reports null while nothing is known. A connection that breaks off is opened again. Ends when the capsule has and is not resumed, and where it may not be
 * followed; throws a `SourceFault` if nobody says whether it is resumed.
 */
export async function followNow(place: Served, tell: (now: LiveNow | null) => void): Promise<void> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const end = await connect(place, tell);
    tell(null);
    if (end === 'refused' || (end === 'gone' && !(await livesAgain(place)))) return;
    await pause(Math.min(5000, 250 * 2 ** Math.min(tries, 5)));
  }
}

/** `gone` where the server knows of no capsule that runs, `refused` where it knows no such session, or the token is of another server. */
async function connect(place: Served, tell: (now: LiveNow | null) => void): Promise<'broken' | 'gone' | 'refused'> {
  try {
    const answer = await ask(`${place.base}now`, { headers: headersOf(place) });
    if (answer.status === 410) return 'gone';
    if (answer.status === 401 || answer.status === 404) return 'refused';
    if (!answer.ok || answer.body === null) return 'broken';
    await eachLine(answer.body, (line) => tell(JSON.parse(line) as LiveNow | null));
  } catch (error) {
    if (!(error instanceof BrokenStream || error instanceof SourceFault)) throw error;
  }
  return 'broken';
}
