/** Lays out one line of a trace for the side panel. */

import { type Digits, digitsBelow } from '@svc/kit/exact-json.ts';
import { shownCount } from '@svc/kit/shown-values.ts';
import type { JsonObject } from '@svc/protocol/json-object.ts';
import { maxShown, type ShownText, shownText } from '@svc/protocol/shown-text.ts';
import type { LineDetail } from '@svc/protocol/viewed-rows.ts';
import { parseLine } from '@svc/record/sessions/trace-events.ts';
import { digitsOnce, exactNumber, prettyJson, preview, textIn, textOrNull } from './checked.ts';
import { editOf } from './file-edit.ts';

const tooMuch = 'The line holds more than 300,000 values, or nests too deep: only its beginning is shown.';

/** Never throws, whatever the line holds. */
export function detailOf(line: string, row: number): LineDetail {
  const event = parseLine(line);
  if (event === null || event === 'too-much') {
    const texts = event === null ? [] : [{ label: 'Why', isWhy: true, text: shownText(tooMuch) }];
    return { row, eventId: null, facts: [], arguments: null, edit: null, texts, line: shownText(line) };
  }
  const edit = editOf(event, row);
  const digitsOf = digitsOnce(line);
  const digits = digitsOf();
  const given = digits === undefined ? undefined : digitsBelow(digits, '/arguments');
  return {
    row,
    eventId: textOrNull(event['event_id'], 128),
    facts: factsOf(event, digitsOf),
    arguments: edit === null && 'arguments' in event ? jsonText(event['arguments'], null, given) : null,
    edit,
    texts: textsOf(event),
    line: jsonText(event, line, digits),
  };
}

/** What is shown elsewhere, or says nothing to a person. */
const passedOver: ReadonlySet<string> = new Set(
  'event_type event_id parent_id session_id task_id context_id tool_call_id tool_name skill_name command_name arguments effective_grants grant_evidence error reason detail text prompt feedback retries'.split(
    ' ',
  ),
);
const maxFacts = 60;
const maxFact = 300;

/** All else that an event has, by its keys as words. */
function factsOf(event: JsonObject, digits: () => Digits | undefined): LineDetail['facts'] {
  return Object.entries(event)
    .slice(0, maxFacts)
    .flatMap(([key, value]): LineDetail['facts'] => {
      const label = labelOf(key.slice(0, maxFact));
      if (passedOver.has(key) || value === false || value === null || value === '') return [];
      if (value === true) return [[label, 'yes']];
      const place = { digits, pointer: `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}` };
      // A port is a name.
      if (typeof value !== 'number' || key === 'port') return [[label, preview(value, maxFact, place)]];
      if (key === 'timestamp' || key === 'start_ms') return [[label, value, 'at']];
      if (key.endsWith('_ms')) return [[label, value, 'ms']];
      return /(?:^|_)bytes(?:_|$)/.test(key)
        ? [[label, value, 'bytes']]
        : [[label, Number.isSafeInteger(value) ? shownCount(value) : exactNumber(value, place)]];
    });
}

function labelOf(key: string): string {
  const words = key === 'ttfb_ms' ? 'first byte after' : key.replace(/_ms$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
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

/** The JSON of a value; the line itself where that is too long. */
function jsonText(value: unknown, line: string | null, digits: Digits | undefined): ShownText {
  const text = (line === null || line.length <= maxShown ? prettyJson(value, digits) : null) ?? line;
  return text === null ? { kind: 'none', why: 'It nests too deep to be shown.' } : shownText(text);
}
