/** Lays out one line of a trace for the side panel. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { ShownText, StepDetail } from '../messages.ts';
import {
  countIn,
  countOrNull,
  objectIn,
  parseLine,
  prettyJson,
  textIn,
  textOrNull,
  wholeOrNull,
} from '../trace/checked.ts';
import { editOf } from '../trace/file-edit.ts';
import { count, duration, moment, size } from '../text/words.ts';
import { mostShown, shownText } from './bodies.ts';

type Fact = readonly [label: string, value: string];

/** Never throws, whatever the line holds. */
export function detailOf(line: string, row: number): StepDetail {
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

/** Each key of an event that is a plain value worth a row, in words. */
const readers: readonly (readonly [
  key: string,
  label: string,
  read: (value: unknown, event: JsonObject) => string | null,
])[] = [
  ['turn', 'Turn', (value) => number(value)],
  ['attempt', 'Attempt', (value) => number(value)],
  ['model', 'Model', (value) => textOrNull(value, 100)],
  ['stop_reason', 'Stopped for', (value) => textOrNull(value, 60)],
  ['outcome', 'Outcome', (value) => textOrNull(value, 60)],
  ['state', 'State', (value) => textOrNull(value, 30)],
  ['status', 'Status', (value) => textOrNull(value, 30) ?? number(value)],
  ['duration_ms', 'Took', (value) => (countOrNull(value) === null ? null : duration(countIn(value)))],
  ['ttfb_ms', 'First byte after', (value) => (countOrNull(value) === null ? null : duration(countIn(value)))],
  ['usage', 'Tokens', (value) => tokens(value)],
  [
    'cache_read_tokens',
    'From the cache',
    (value) => (countOrNull(value) === null ? null : `${count(countIn(value))} tokens`),
  ],
  [
    'cache_write_tokens',
    'To the cache',
    (value) => (countOrNull(value) === null ? null : `${count(countIn(value))} tokens`),
  ],
  ['cost', 'Cost', (value) => number(value) ?? textOrNull(value, 40)],
  ['provider', 'Provider', (value) => textOrNull(value, 100)],
  ['exit_code', 'Exit code', (value) => number(value)],
  [
    'content_bytes',
    'Output',
    (value, event) =>
      countOrNull(value) === null ? null : `${size(countIn(value))}${event['truncated'] === true ? ', cut' : ''}`,
  ],
  ['tool_kind', 'Runs as', (value) => textOrNull(value, 30)],
  ['origin', 'From', (value) => textOrNull(value, 30)],
  ['trust', 'Trust', (value) => textOrNull(value, 30)],
  ['capsule', 'Capsule', (value) => textOrNull(value, 100)],
  ['version', 'Version', (value) => textOrNull(value, 40)],
  ['child_session_id', 'Session', (value) => textOrNull(value, 100)],
  ['hook_name', 'Hook', (value) => textOrNull(value, 100)],
  ['event', 'Event', (value) => textOrNull(value, 60)],
  ['path', 'Path', (value) => textOrNull(value, 300)],
  ['host', 'Host', (value) => textOrNull(value, 200)],
  ['port', 'Port', (value) => number(value)],
  ['what', 'What', (value) => textOrNull(value, 30)],
  ['name', 'Name', (value) => textOrNull(value, 300)],
  ['change', 'Change', (value) => textOrNull(value, 30)],
  ['connections', 'Connections', (value) => number(value)],
  ['bytes_in', 'Came in', (value) => (countOrNull(value) === null ? null : size(countIn(value)))],
  ['bytes_out', 'Went out', (value) => (countOrNull(value) === null ? null : size(countIn(value)))],
  ['rule', 'Rule', (value) => textOrNull(value, 200)],
  ['by', 'By', (value) => textOrNull(value, 100)],
  ['plan_id', 'Plan', (value) => textOrNull(value, 100)],
  ['step_id', 'Step', (value) => textOrNull(value, 100)],
  ['messages_before', 'Messages before', (value) => number(value)],
  ['messages_after', 'Messages after', (value) => number(value)],
  ['timestamp', 'At', (value) => (countOrNull(value) === null ? null : moment(countIn(value)))],
];

function factsOf(event: JsonObject): readonly Fact[] {
  return readers.flatMap(([key, label, read]): Fact[] => {
    const value = read(event[key], event);
    return value === null ? [] : [[label, value]];
  });
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

function textsOf(event: JsonObject): StepDetail['texts'] {
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

function number(value: unknown): string | null {
  const whole = wholeOrNull(value);
  if (whole !== null) return count(whole);
  return typeof value === 'number' && Math.abs(value) < 1e15 ? String(value) : null;
}

function tokens(value: unknown): string | null {
  const { input_tokens: input, output_tokens: output } = objectIn(value);
  if (countOrNull(input) === null && countOrNull(output) === null) return null;
  return `${count(countIn(input))} in, ${count(countIn(output))} out`;
}
