/** Reads the events of a trace, and goes on behind lines that are too long to be read whole. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { LineFile } from '../../journal/line-file.ts';

/** What a line says; nothing where it is not JSON. */
export type TracedEvent = Readonly<Record<string, unknown>>;

const longestWords = 2000;
const textKey = ',"text":"';

/**
 * Calls `take` with the type of each event that is one of `types`, and with a function that parses the line: most lines need not be parsed. When the
 * text of a task makes its line longer than 16 MiB, the event has the beginning of that text. Returns how many other lines of more than 16 MiB there
 * are, without those whose type is not in `types`.
 */
export function eachEvent(
  file: LineFile,
  types: ReadonlySet<string>,
  take: (type: string, read: () => TracedEvent) => void,
): number {
  let unread = 0;
  for (const { line, isWhole } of file.everyLine()) {
    const type = typeOfLine(line);
    if (isWhole) {
      if (types.has(type)) take(type, () => eventOf(line.toString('utf8')));
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
const mostParsed = 1024 * 1024;

/**
 * The `event_type` of a line of a trace; '' when the line has none. `svc` writes it first, so that the start of the line tells it. A line that somebody
 * else wrote may have it anywhere: such a line is parsed where it has at most 1 MiB.
 */
export function typeOfLine(line: Buffer): string {
  const [, type] = typeShape.exec(line.toString('latin1', 0, 128)) ?? [];
  if (type !== undefined) return type;
  const { event_type: told } = line[0] === 0x7b && line.length <= mostParsed ? eventOf(line.toString('utf8')) : {};
  return typeof told === 'string' ? told : '';
}

/** `W-RUN-173`: lines of a trace are missing in what is shown of it. `why` is a clause about them. */
export function linesLeftOut(session: string, count: number, why = 'of more than 16 MiB'): Diagnostic {
  return leftOut(session, count, `${why}, and what follows from ${count === 1 ? 'it' : 'them'} is left out`);
}

/** `W-RUN-173`: lines of a trace are not compared with those of a replay. */
export function linesNotCompared(session: string, count: number): Diagnostic {
  const whose = count === 1 ? 'its' : 'their';
  return leftOut(session, count, `of more than 16 MiB, and only ${whose} event_type is compared`);
}

function leftOut(session: string, count: number, clause: string): Diagnostic {
  const message = `the trace of ${session} has ${count === 1 ? 'a line' : `${count} lines`} ${clause}`;
  return new Diagnostic('W-RUN-173', message, {
    hint: 'look into its trace.jsonl, which holds all lines as they were written',
  });
}

/**
 * A `task_received` by how its line begins: with the first words of its text, which stands last. Null for any other line. In JSON, no quotation mark
 * inside a text stands right behind a comma.
 */
export function receivedIn(line: string): TracedEvent | null {
  if (!line.startsWith('{"event_type":"task_received",')) return null;
  const at = line.indexOf(textKey);
  if (at === -1) return null;
  const start = at + textKey.length;
  const [words = ''] = /^(?:[^"\\]|\\(?:u[\da-f]{4}|[^u]))*/i.exec(line.slice(start, start + longestWords)) ?? [];
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
