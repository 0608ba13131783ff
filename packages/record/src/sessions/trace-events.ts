/** Reads the events of a trace, and goes on behind lines that are too long to be read whole. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Steps } from '@svc/kit/yield-to-loop.ts';
import { asJsonObject, type JsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import type { LineFile } from '../journal/line-file.ts';

/** What a line says; nothing where it is not JSON. */
export type TracedEvent = Readonly<Record<string, unknown>>;

/** For one line: what is read of it would take many times its bytes. A short line holds no more. */
const [maxValues, shortLine] = [300_000, 256 * 1024];
/** For lines, before others have a turn. */
const [turnBytes, turnLines] = [1024 * 1024, 2000];
const maxWords = 2000;
const textKey = ',"text":"';

/** A line that somebody may have written to be costly: null for no object, and `too-much` for more than 300,000 values, or for a long line that nests deep. */
export function parseLine(line: string): JsonObject | 'too-much' | null {
  if (line.length <= shortLine) return parseJsonObject(line);
  const parsed = parseJsonText(line, maxValues);
  if (parsed.kind === 'json') return asJsonObject(parsed.value);
  return parsed.kind === 'not-json' ? null : 'too-much';
}

/** The object of such a line; null for anything else. */
export function parseLineObject(line: string): JsonObject | null {
  const parsed = parseLine(line);
  return parsed === 'too-much' ? null : parsed;
}

/**
 * Calls `take` with the type of each event that is one of `types`, and with a function that parses the line: most lines need not be parsed. When the
 * text of a task makes its line longer than 16 MiB, the event has the beginning of that text. Comes to how many other lines cannot be read, which are
 * longer, hold more than 300,000 values or stand behind too many short ones, without those whose type is not in `types`.
 */
export function* eachEvent(
  file: LineFile,
  types: ReadonlySet<string>,
  take: (type: string, read: () => TracedEvent) => void,
): Steps<number> {
  let unread = 0;
  let [bytes, lines] = [0, 0];
  for (const { line, isWhole } of file.everyLine()) {
    bytes += line.length;
    lines += 1;
    if (bytes > turnBytes || lines > turnLines) {
      [bytes, lines] = [0, 0];
      yield;
    }
    const type = typeOfLine(line);
    if (isWhole) {
      const read = (): TracedEvent => {
        const event = parseLine(line.toString('utf8'));
        if (event === 'too-much') unread += 1;
        return event === 'too-much' ? {} : (event ?? {});
      };
      if (types.has(type)) take(type, read);
      continue;
    }
    if (type !== '' && !types.has(type)) continue;
    const received = receivedIn(line.toString('utf8'));
    if (received === null) unread += 1;
    else take(type, () => received);
  }
  return unread;
}

const typeShape = /^\{\s*"event_type"\s*:\s*"([a-z_]{1,64})"/;
const maxParsed = 1024 * 1024;

/**
 * The `event_type` of a line of a trace; '' when the line has none. `svc` writes it first, so that the start of the line shows it. A line that somebody
 * else wrote may have it anywhere: such a line is parsed where it has at most 1 MiB.
 */
export function typeOfLine(line: Buffer): string {
  const [, type] = typeShape.exec(line.toString('latin1', 0, 128)) ?? [];
  if (type !== undefined) return type;
  const { event_type: told } = line[0] === 0x7b && line.length <= maxParsed ? eventOf(line.toString('utf8')) : {};
  return typeof told === 'string' ? told : '';
}

/** `W-RUN-173`: lines of a trace are missing in what is shown of it. `why` is a clause about them. */
export function linesLeftOut(session: string, count: number, why = 'that cannot be read'): Diagnostic {
  return leftOut(session, count, `${why}, and what follows from ${count === 1 ? 'it' : 'them'} is left out`);
}

/** `W-RUN-173`: lines of a trace are not compared with those of a replay. */
export function linesNotCompared(session: string, count: number): Diagnostic {
  const whose = count === 1 ? 'its' : 'their';
  return leftOut(session, count, `that cannot be read, and only ${whose} event_type is compared`);
}

function leftOut(session: string, count: number, clause: string): Diagnostic {
  const message = `the trace of ${session} has ${count === 1 ? 'a line' : `${count} lines`} ${clause}`;
  return new Diagnostic('W-RUN-173', message, {
    hint: 'svc reads no line of more than 16 MiB or 300,000 values, and none behind 100,000 short ones: look into its trace.jsonl',
  });
}

/**
 * A `task_received` by how its line begins: with the first words of its text, which stands last. Returns null for any other line. In JSON, no quotation mark
 * inside a text stands right behind a comma.
 */
export function receivedIn(line: string): TracedEvent | null {
  if (!line.startsWith('{"event_type":"task_received",')) return null;
  const at = line.indexOf(textKey);
  if (at === -1) return null;
  const start = at + textKey.length;
  const [words = ''] = /^(?:[^"\\]|\\(?:u[\da-f]{4}|[^u]))*/i.exec(line.slice(start, start + maxWords)) ?? [];
  const event = eventOf(`${line.slice(0, start)}${words}"}`);
  return 'text' in event ? event : null;
}

/** The event of a line; without a key where it is no JSON. */
export function eventOf(text: string): TracedEvent {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    // No JSON: it says nothing.
    return {};
  }
}
