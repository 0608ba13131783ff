/** Answers out of what an exported page holds, as the server of a page would. */

import { asJsonObject } from '@svc/protocol/json-object.ts';
import type { StepDetail } from '@svc/protocol/viewed-rows.ts';
import type { HeldAnswer } from '@svc/protocol/viewed-session.ts';
import type { Place } from '../messages.ts';
import { BrokenStream, eachLine, heldBytes, nextPiece } from './byte-sources.ts';

type Held = Extract<Place, { readonly kind: 'held' }>;

const mostFound = 100_000;
/** Lines that are searched before others have their turn. */
const searchedAtOnce = 8192;
/** Nobody nests deeper. */
const mostLevels = 60;

/** The answer at a path of the session; undefined for one that the page does not hold. */
export function heldAnswers({ lines, answers }: Held): (path: string) => Promise<unknown> {
  let all: Promise<Lines> | null = null;
  let others: Promise<ReadonlyMap<string, unknown>> | null = null;
  return async (path) => {
    const [, what, about = ''] = /^(detail|find|search)\/(.*)/.exec(path) ?? [];
    if (what === undefined) return (await (others ??= readAnswers(answers))).get(path);
    all ??= readLines(lines);
    if (what === 'detail') return JSON.parse((await all)(Number(about))) as StepDetail;
    return what === 'find' ? find(await all, about) : await search(await all, decodeURIComponent(about));
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
  await eachLine(heldBytes(base64), (line) => {
    const [path, answer] = JSON.parse(line) as HeldAnswer;
    answers.set(path, answer);
  });
  return answers;
}

function find(lines: Lines, eventId: string): number {
  const wanted = `"eventId":"${eventId}"`;
  for (let row = 0; ; row += 1) {
    const line = lines(row);
    if (line === '') return -1;
    if (line.includes(wanted)) return row;
  }
}

async function search(lines: Lines, words: string): Promise<readonly number[]> {
  const found: number[] = [];
  const written = JSON.stringify(words).slice(1, -1);
  for (let row = 0; found.length < mostFound; row += 1) {
    const text = lines(row);
    if (text === '') break;
    if (holds(text, words, written)) found.push(row);
    // Others are answered in between.
    if (row % searchedAtOnce === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  return found;
}

/** Whether a value of a line of the trace holds `words`, or a line that is no JSON. */
function holds(text: string, words: string, written: string): boolean {
  const small = text.toLowerCase();
  // In a line within a line, what is written in another way is so twice.
  if (!small.includes(written) && !small.includes(JSON.stringify(written).slice(1, -1))) return false;
  const { line } = JSON.parse(text) as StepDetail;
  if (line.kind === 'none') return false;
  return holdsText(eventOf(line.text) ?? line.text, words);
}

function eventOf(line: string): unknown {
  try {
    return asJsonObject(JSON.parse(line));
  } catch {
    // Cut, damaged, or no JSON at all: it is searched as it is.
    return null;
  }
}

/** Whether a text of a value, in small letters, holds `words`: keys are no texts. */
function holdsText(value: unknown, words: string, levels: number = mostLevels): boolean {
  if (typeof value === 'string') return value.toLowerCase().includes(words);
  if (typeof value !== 'object' || value === null || levels === 0) return false;
  return Object.values(value).some((each) => holdsText(each, words, levels - 1));
}
