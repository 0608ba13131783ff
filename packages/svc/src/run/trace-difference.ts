/** Compares the trace of a session with that of its replay. */

import { recordedJson } from '@svc/record/journal/recorded-json.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { typeOfLine } from '@svc/record/sessions/trace-events.ts';
import { type Difference, differenceSince } from '@svc/session/replay/asked-again.ts';

/** The first line of a trace that a replay does not repeat. */
export interface TraceDifference {
  /** From 1. */
  readonly line: number;
  /** It is null where one of the two has no such line. */
  readonly difference: Difference | null;
}

/** A line of a trace; of one that is longer than any that is read only the beginning. */
export interface TraceLine {
  readonly line: Buffer;
  readonly isWhole: boolean;
}

/** Written by what a replay has no part of, or before and after all it repeats. */
const notRepeated = /^(?:session_start|session_end|resource_.*|peer_handle_redeem|push_lost|refusals?|egress)$/;

/**
 * Ids and times are never the same, a length is that of the text with its secrets, which the journal does not have, and where the model was asked
 * is seen on the way to it, which no replay goes.
 */
const neverSame = [
  'event_id',
  'parent_id',
  'session_id',
  'timestamp',
  'start_ms',
  'duration_ms',
  'ttfb_ms',
  'content_bytes',
  'host',
] as const;

/**
 * The first line that differs in more than ids and times; null when no line does. When the recording of a session was cut off, either may have
 * lines that follow those of the other: its journal and its trace do not end at the same moment. A cut line is compared by its type alone.
 */
export function firstTraceDifference(
  lines: Iterable<TraceLine>,
  replayed: readonly TraceEvent[],
  isCutOff = false,
): TraceDifference | null {
  const again = replayed.filter((event) => !notRepeated.test(event.event_type)).map(comparable);
  let [met, number] = [0, 0];
  for (const { line, isWhole } of lines) {
    number += 1;
    const json = isWhole ? recordedJson(line.toString('utf8')) : beginningOf(line);
    // Not of a session: none writes a line that is nested so deep, or holds so much.
    if (json.kind === 'too-deep' || json.kind === 'too-many') return { line: number, difference: null };
    const recorded = json.kind === 'json' ? json.value : null;
    const isRepeated =
      typeof recorded === 'object' &&
      recorded !== null &&
      'event_type' in recorded &&
      !(typeof recorded.event_type === 'string' && notRepeated.test(recorded.event_type));
    if (!isRepeated) continue;
    const now = again[met];
    met += 1;
    if (now === undefined) return isCutOff ? null : { line: number, difference: null };
    const difference = differenceSince(comparable(recorded), isWhole ? now : { event_type: now['event_type'] });
    if (difference !== null) return { line: number, difference };
  }
  return isCutOff || met === again.length ? null : { line: number + 1, difference: null };
}

function beginningOf(line: Buffer): ReturnType<typeof recordedJson> {
  return { kind: 'json', value: { event_type: typeOfLine(line) } };
}

function comparable(event: object): Readonly<Record<string, unknown>> {
  const copy: Record<string, unknown> = { ...event };
  for (const key of neverSame) delete copy[key];
  return copy;
}
