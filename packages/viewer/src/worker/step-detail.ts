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

/** A text of at most so many characters, or what else a value reads as; null for what it should not be. */
type Read = number | ((value: unknown, event: JsonObject) => string | null);

/** Each key of an event that is a plain value worth a row, in words. */
const readers: readonly (readonly [key: string, label: string, read: Read])[] = [
  ['turn', 'Turn', number],
  ['attempt', 'Attempt', number],
  ['model', 'Model', 100],
  ['stop_reason', 'Stopped for', 60],
  ['outcome', 'Outcome', 60],
  ['state', 'State', 30],
  ['status', 'Status', (value) => textOrNull(value, 30) ?? number(value)],
  ['duration_ms', 'Took', spelt(duration)],
  ['ttfb_ms', 'First byte after', spelt(duration)],
  ['usage', 'Tokens', tokens],
  ['cache_read_tokens', 'From the cache', spelt((value) => `${count(value)} tokens`)],
  ['cache_write_tokens', 'To the cache', spelt((value) => `${count(value)} tokens`)],
  ['cost', 'Cost', (value) => number(value) ?? textOrNull(value, 40)],
  ['provider', 'Provider', 100],
  ['exit_code', 'Exit code', number],
  [
    'content_bytes',
    'Output',
    (value, event) => {
      const bytes = spelt(size)(value);
      return bytes !== null && event['truncated'] === true ? `${bytes}, cut` : bytes;
    },
  ],
  ['tool_kind', 'Runs as', 30],
  ['origin', 'From', 30],
  ['trust', 'Trust', 30],
  ['capsule', 'Capsule', 100],
  ['version', 'Version', 40],
  ['child_session_id', 'Session', 100],
  ['hook_name', 'Hook', 100],
  ['event', 'Event', 60],
  ['path', 'Path', 300],
  ['host', 'Host', 200],
  ['port', 'Port', (value) => (wholeOrNull(value) === null ? null : `${value as number}`)],
  ['what', 'What', 30],
  ['name', 'Name', 300],
  ['change', 'Change', 30],
  ['connections', 'Connections', number],
  ['bytes_in', 'Came in', spelt(size)],
  ['bytes_out', 'Went out', spelt(size)],
  ['rule', 'Rule', 200],
  ['by', 'By', 100],
  ['principal', 'By', 100],
  ['plan_id', 'Plan', 100],
  ['step_id', 'Plan step', 100],
  ['messages_before', 'Messages before', number],
  ['messages_after', 'Messages after', number],
  ['timestamp', 'At', spelt(moment)],
];

function factsOf(event: JsonObject): readonly Fact[] {
  return readers.flatMap(([key, label, read]): Fact[] => {
    const value = typeof read === 'number' ? textOrNull(event[key], read) : read(event[key], event);
    return value === null ? [] : [[label, value]];
  });
}

/** Of a count, as `spell` has it. */
function spelt(spell: (value: number) => string): (value: unknown) => string | null {
  return (value) => {
    const known = countOrNull(value);
    return known === null ? null : spell(known);
  };
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
