/** Answers out of what an exported page holds, as the server of a page would. */

import { asJsonObject, parseJson } from '@svc/protocol/json-object.ts';
import { holdsText } from '@svc/protocol/shown-text.ts';
import type { StepDetail, HeldAnswer } from '@svc/protocol/viewed-session.ts';
import type { Place } from '../messages.ts';
import { BrokenStream, eachLine, heldBytes, nextPiece, SourceFault } from './byte-sources.ts';

type Held = Extract<Place, { readonly kind: 'held' }>;

const maxFound = 100_000;
/** Characters that are looked through before others have their turn. */
const turnLength = 2 * 1024 * 1024;

/** The answer at a path of the session; undefined for one that the page does not hold, a `SourceFault` for a line that is damaged. A search ends one that still runs, which then has found nothing. */
export function heldAnswers({ lines, answers }: Held): (path: string) => Promise<unknown> {
  let all: Promise<Lines> | null = null;
  let others: Promise<ReadonlyMap<string, unknown>> | null = null;
  let searches = 0;
  return async (path) => {
    const [, what, about = ''] = /^(detail|find|search)\/(.*)/.exec(path) ?? [];
    if (what === undefined) return (await (others ??= readAnswers(answers))).get(path);
    all ??= readLines(lines);
    if (what === 'detail') {
      const detail = asJsonObject(parseJson((await all)(Number(about))));
      if (detail === null) throw new SourceFault('What this page holds of this line is damaged.');
      return detail;
    }
    if (what === 'find') return await find(await all, about);
    searches += 1;
    const number = searches;
    return await search(await all, decodeURIComponent(about), () => number === searches);
  };
}

/** The line of a number; '' behind the last. */
type Lines = (number: number) => string;

/** As bytes: as texts they would take twice as much. */
async function readLines(base64: string): Promise<Lines> {
  const pieces: BlobPart[] = [];
  const reader = heldBytes(base64).getReader();
  try {
    for (let piece = await nextPiece(reader); piece !== null; piece = await nextPiece(reader))
      pieces.push(piece as BlobPart);
  } catch (error) {
    // What came before the damage is shown.
    if (!(error instanceof BrokenStream)) throw error;
  }
  const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
  const ends: number[] = [];
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, end + 1)) ends.push(end);
  const decoder = new TextDecoder();
  return (number) => decoder.decode(bytes.subarray(number === 0 ? 0 : (ends[number - 1] ?? -1) + 1, ends[number] ?? 0));
}

async function readAnswers(base64: string): Promise<ReadonlyMap<string, unknown>> {
  const answers = new Map<string, unknown>();
  try {
    await eachLine(heldBytes(base64), (line) => {
      const [path, answer] = (parseJson(line) ?? []) as Partial<HeldAnswer>;
      if (path !== undefined) answers.set(path, answer);
    });
  } catch (error) {
    // What came before the damage is shown.
    if (!(error instanceof BrokenStream)) throw error;
  }
  return answers;
}

async function find(lines: Lines, eventId: string): Promise<number> {
  const wanted = `"eventId":"${eventId}"`;
  for await (const { row, text } of inTurns(lines)) if (text.includes(wanted)) return row;
  return -1;
}

async function search(lines: Lines, words: string, isWanted: () => boolean): Promise<readonly number[]> {
  const found: number[] = [];
  const written = JSON.stringify(words).slice(1, -1);
  for await (const { row, text } of inTurns(lines)) {
    if (!isWanted()) return [];
    if (holds(text, words, written)) found.push(row);
    if (found.length === maxFound) break;
  }
  return found;
}

/** All lines; others are answered in between. */
async function* inTurns(lines: Lines): AsyncGenerator<{ readonly row: number; readonly text: string }> {
  let turn = 0;
  for (let row = 0; ; row += 1) {
    const text = lines(row);
    if (text === '') return;
    yield { row, text };
    turn += text.length;
    if (turn < turnLength) continue;
    turn = 0;
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** Whether a value of a line of the trace holds `words`, or a line that is no JSON. */
function holds(text: string, words: string, written: string): boolean {
  const small = text.toLowerCase();
  // In a line within a line, what is written in another way is so twice.
  if (!small.includes(written) && !small.includes(JSON.stringify(written).slice(1, -1))) return false;
  const line = (parseJson(text) as StepDetail | null | undefined)?.line;
  if (line === undefined || line.kind === 'none') return false;
  // Cut, damaged, or no JSON at all: it is searched as it is.
  return holdsText(asJsonObject(parseJson(line.text)) ?? line.text, words);
}
