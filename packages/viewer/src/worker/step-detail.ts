/** Lays out one line of a trace for the side panel. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import { mostShown, type ShownText, shownText } from '@svc/protocol/shown-text.ts';
import type { LineDetail } from '../messages.ts';
import { parseLine, prettyJson, preview, textIn, textOrNull } from '../trace/checked.ts';
import { editOf } from '../trace/file-edit.ts';
import { count, duration, moment, size } from '../text/words.ts';

/** Never throws, whatever the line holds. */
export function detailOf(line: string, row: number): LineDetail {
  const event = parseLine(line);
  if (event === null) {
    return { row, eventId: null, facts: [], arguments: null, edit: null, texts: [], line: shownText(line) };
  }
  const edit = editOf(event, row);
  return {
    row,
    eventId: textOrNull(event['event_id'], 128),
    facts: factsOf(event),
    arguments: edit === null && 'arguments' in event ? jsonText(event['arguments']) : null,
    edit,
    texts: textsOf(event),
    line: jsonText(event, line),
  };
}

/** What is shown elsewhere, or says nothing to a person. */
const passedOver: ReadonlySet<string> = new Set(
  'event_type event_id parent_id session_id task_id context_id tool_call_id tool_name skill_name command_name arguments effective_grants grant_evidence error reason detail text prompt feedback retries'.split(
    ' ',
  ),
);
const mostFacts = 60;
const longestFact = 300;

/** All else that an event has, by its keys as words. */
function factsOf(event: JsonObject): LineDetail['facts'] {
  return Object.entries(event)
    .slice(0, mostFacts)
    .flatMap(([key, value]): LineDetail['facts'] => {
      const shown = passedOver.has(key) || value === false || value === null ? '' : factOf(key, value);
      return shown === '' ? [] : [[labelOf(key.slice(0, longestFact)), shown]];
    });
}

function labelOf(key: string): string {
  const words = key === 'ttfb_ms' ? 'first byte after' : key.replace(/_ms$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function factOf(key: string, value: unknown): string {
  if (value === true) return 'yes';
  // A port is a name.
  if (typeof value !== 'number' || key === 'port') return preview(value, longestFact);
  if (key === 'timestamp' || key === 'start_ms') return moment(value);
  if (key.endsWith('_ms')) return duration(value);
  return /(?:^|_)bytes(?:_|$)/.test(key) ? size(value) : count(value);
}

/** Longer texts of an event, and whether they say why something went wrong. */
const texts: readonly (readonly [key: string, label: string, isWhy: boolean])[] = [
  ['error', 'Why', true],
  ['reason', 'Why', true],
  ['detail', 'Why', true],
  ['text', 'Text', false],
  ['prompt', 'Question', false],
  ['feedback', 'What the hook asked for', false],
];

function textsOf(event: JsonObject): LineDetail['texts'] {
  const found = texts.flatMap(([key, label, isWhy]) => {
    const value = event[key];
    return typeof value === 'string' && value !== '' ? [{ label, isWhy, text: shownText(value) }] : [];
  });
  const { retries } = event;
  if (!Array.isArray(retries) || retries.length === 0) return found;
  const lines = (retries as readonly unknown[]).slice(0, 100).map((each) => textIn(each, 500));
  return [...found, { label: 'The driver asked again', isWhy: false, text: shownText(lines.join('\n')) }];
}

function jsonText(value: unknown, line = ''): ShownText {
  return shownText((line.length > mostShown ? null : prettyJson(value)) ?? line);
}
