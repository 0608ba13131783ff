/** Makes the row of a line of a trace: a few numbers and two short texts. */

import { shownBytes, shownCount } from '@svc/kit/shown-values.ts';
import { type JsonObject, parseJsonObject, wholeOrNull } from '@svc/protocol/json-object.ts';
import * as kinds from '@svc/protocol/row-kinds.ts';
import { isModel, isPlanStep } from '@svc/protocol/row-kinds.ts';
import { betweenDetails } from '@svc/protocol/viewed-rows.ts';
import * as flags from '@svc/protocol/row-flags.ts';
import { parseLine } from '@svc/record/sessions/trace-events.ts';
import {
  countIn,
  countOrNull,
  digitsOnce,
  keptText,
  objectIn,
  type PlaceInLine,
  preview,
  textIn,
  textOrNull,
  textsIn,
} from './checked.ts';
import { kindOf } from './event-kinds.ts';

/** What of a line is looked at for every row. */
export interface Row {
  readonly kind: number;
  readonly flags: number;
  /** Unix milliseconds; null where the line does not say it. */
  readonly at: number | null;
  /** When it began, where the line says so itself. */
  readonly startedAt: number | null;
  readonly durationMs: number;
  readonly taskId: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly name: string;
  readonly detail: string;
  /** A damaged line has null here. */
  readonly event: JsonObject | null;
}

/** No name that is granted is longer. Use is counted by names, so none of them is cut. */
const maxName = 300;
/** What took longer is not believed, as a clock that jumps so far is not. */
export const maxStepMs: number = 366 * 86_400_000;
/** Ids distinguish things: more of one is not looked at. */
const maxId = 128;

/** Never throws, whatever the line holds. */
export function readLine(line: string): Row {
  const read = parseLine(line);
  const parsed = read === 'too-much' ? null : read;
  const type = textOrNull(parsed?.['event_type']);
  const event = type === null ? null : parsed;
  const said = event ?? {};
  const kind = type === null ? kinds.damaged : kindOf(type, said);
  const usage = isModel(kind) ? objectIn(said['usage']) : {};
  const [name, detail] =
    type === null
      ? [read === 'too-much' ? 'line of too much' : 'damaged line', keptText(line, 160)]
      : describe(kind, type, { event: said, digits: digitsOnce(line) });
  return {
    kind,
    flags: event === null ? flags.failed : flagsOf(kind, said),
    at: countOrNull(said['timestamp']),
    startedAt: countOrNull(said['start_ms']),
    durationMs: kind === kinds.taskEnd || kind === kinds.sessionEnd ? 0 : countIn(said['duration_ms'], maxStepMs),
    taskId: textOrNull(said['task_id'], maxId),
    inputTokens: countIn(usage['input_tokens'], 4e9),
    outputTokens: countIn(usage['output_tokens'], 4e9),
    name,
    detail,
    event,
  };
}

const failedStates: ReadonlySet<unknown> = new Set(['failed', 'error', 'crashed', 'trapped', 'timed-out']);

function flagsOf(kind: number, event: JsonObject): number {
  const { is_error: isError, outcome, state, status, allowed } = event;
  const isRefused =
    kind === kinds.refusal ||
    kind === kinds.refusals ||
    kind === kinds.ceiling ||
    status === 'refused' ||
    (kind === kinds.egress && allowed === false);
  const hasFailed =
    isError === true ||
    kind === kinds.hookError ||
    failedStates.has(state) ||
    failedStates.has(outcome) ||
    failedStates.has(status) ||
    (isModel(kind) && typeof outcome === 'string' && outcome !== 'response');
  return (
    (hasFailed ? flags.failed : 0) |
    (exitOf(event) === null ? 0 : flags.exited) |
    (isRefused ? flags.refused : 0) |
    (event['truncated'] === true ? flags.truncated : 0) |
    (isPlanStep(kind) ? Math.min(7, countIn(event['attempts'])) << flags.tries : 0) |
    (event['trust'] === 'untrusted' ? flags.untrusted : 0)
  );
}

/** The exit code of a command that did not end with 0; null for all else. */
function exitOf({ exit_code: code }: JsonObject): number | null {
  const whole = wholeOrNull(code);
  return whole === 0 ? null : whole;
}

function withExit(event: JsonObject, about: string): string {
  const code = exitOf(event);
  return code === null ? about : `exit ${code}${betweenDetails}${about}`;
}

/** What an event of no kind of its own is about: the first of them that it has. */
const abouts = ['detail', 'error', 'path', 'outcome', 'principal'] as const;

/** Name and detail of a row. */
function describe(
  kind: number,
  type: string,
  { event, digits }: { readonly event: JsonObject } & Pick<PlaceInLine, 'digits'>,
): readonly [string, string] {
  const inArguments = { digits, pointer: '/arguments' };
  const text = (key: string, longest?: number): string => textIn(event[key], longest);
  switch (kind) {
    case kinds.sessionStart: {
      const { name, version } = objectIn(event['capsule']);
      const { achieved, declared } = objectIn(event['containment']);
      return [
        'session',
        `${textIn(name, 60)} ${textIn(version, 30)} · ${textIn(achieved, 20)}, asked for ${textIn(declared, 20)}`,
      ];
    }
    case kinds.taskReceived:
      return ['task', taskText(event).slice(0, 160)];
    case kinds.taskStart:
      return ['attempt', `attempt ${countIn(event['attempt'])}`];
    case kinds.model:
    case kinds.hookModel:
      return modelRow(event);
    case kinds.tool:
      return [text('tool_name', maxName), argumentsRow(event['arguments'], inArguments)];
    case kinds.skill:
      return [text('skill_name', maxName), skillRow(event)];
    case kinds.command:
      return [text('command_name', maxName), withExit(event, commandRow(event['arguments'], inArguments))];
    case kinds.background:
      return [text('command_name', maxName), withExit(event, `in the background: ${text('state', 20)}`)];
    case kinds.question:
      return ['question', text('prompt')];
    case kinds.compaction:
      return ['compaction', compactionRow(event)];
    case kinds.child:
      return [
        text('capsule', maxName),
        `${text('status', 20)}${textIn(event['detail']) === '' ? '' : `: ${text('detail')}`}`,
      ];
    case kinds.planStep:
    case kinds.planCommand:
    case kinds.planChild:
      return [text('name', maxName), planStepRow(event, inArguments)];
    case kinds.taskEnd:
      return [`task ${text('state', 20)}`, text('error') || counted(countIn(event['turns']), 'turn')];
    case kinds.sessionEnd:
      return [`session ${text('status', 20)}`, text('reason') || counted(countIn(event['tasks']), 'task')];
    case kinds.reopened:
      return ['reopened', text('feedback')];
    case kinds.hookError:
      return [text('hook_name', maxName), text('error')];
    case kinds.refusal:
      return [text('name', maxName), `${text('rule', 100)} (${text('what', 20)}, by ${text('by', 40)})`];
    case kinds.refusals:
      return ['refusals', `${countIn(event['count'])} more of ${text('what', 20)}, by ${text('by', 40)}`];
    case kinds.egress: {
      const port = countIn(event['port'], 65_535);
      const connections = countIn(event['connections']);
      const bytes = `${connections} ${connections === 1 ? 'connection' : 'connections'}, ${shownBytes(countIn(event['bytes_in']))} in, ${shownBytes(countIn(event['bytes_out']))} out`;
      return [
        `${text('host', maxName)}${port === 0 ? '' : `:${port}`}`,
        `${event['allowed'] === false ? 'not allowed' : bytes}, by ${text('by', 40)}`,
      ];
    }
    case kinds.fileChange:
      return [text('path', maxName), text('change', 20)];
    default: {
      const about = abouts.find((key) => (event[key] ?? null) !== null) ?? '';
      const place = { digits, pointer: `/${about}` };
      return [
        (kind === kinds.unknown ? type : type.replaceAll('_', ' ')).slice(0, maxName),
        preview(event[about] ?? '', 160, place),
      ];
    }
  }
}

/** Who named the skill, where no model called it, or the file that was asked for. */
function skillRow(event: JsonObject): string {
  const by = textIn(event['by'], 60);
  return by === '' ? textIn(objectIn(event['arguments'])['file'], 160) : `named by ${by}`;
}

function modelRow(event: JsonObject): readonly [string, string] {
  const hook = textIn(event['hook_name'], 40);
  const name = hook === '' ? `turn ${countIn(event['turn'], 1e6)}` : hook;
  const error = textIn(event['error']);
  if (error !== '') return [name, error];
  const { input_tokens: input, output_tokens: output } = objectIn(event['usage']);
  const { retries } = event;
  const cached = countIn(event['cache_read_tokens']);
  const again = Array.isArray(retries) && retries.length > 0 ? counted(retries.length, 'retry', 'retries') : '';
  const stop = textIn(event['stop_reason'], 40);
  const said = [
    textIn(event['model'], 60),
    `${shownCount(countIn(input))} in, ${shownCount(countIn(output))} out${cached === 0 ? '' : `, cache ${shownCount(cached)}`}`,
    usualStops.has(stop) ? '' : stop,
    again,
  ];
  return [name, said.filter((part) => part !== '').join(betweenDetails)];
}

/** A turn that ends otherwise, as at its most tokens, says so. */
const usualStops: ReadonlySet<string> = new Set(['end_turn', 'tool_call']);

/** A report of an end is no longer than this. */
const maxCompletion = 20_000;

/** The text of a task; when it reports the end of a session that was asked for, that end in words. */
export function taskText(event: JsonObject): string {
  const ended = event['origin'] === 'completion' ? parseJsonObject(textIn(event['text'], maxCompletion)) : null;
  const name = textOrNull(ended?.['capsule_name'], 100);
  return name === null ? textIn(event['text'], 400) : `${name} has ended: ${textIn(ended?.['status'], 20)}`;
}

/** `1 step`, `2 steps`. */
function counted(value: number, one: string, many = `${one}s`): string {
  return `${shownCount(value)} ${value === 1 ? one : many}`;
}

function commandRow(given: unknown, place: PlaceInLine): string {
  const { args } = objectIn(given);
  return (Array.isArray(args) ? textsIn(args, 40, 160).join(' ') : argumentsRow(given, place)).slice(0, 160);
}

function planStepRow(event: JsonObject, place: PlaceInLine): string {
  const outcome = textIn(event['outcome'], 20);
  const did = outcome === 'passed' || outcome === 'failed' ? commandRow(event['arguments'], place) : outcome;
  return withExit(event, `step ${textIn(event['step_id'], 40)}: ${did}`.slice(0, 160));
}

function compactionRow(event: JsonObject): string {
  const [before, after] = [countIn(event['messages_before']), countIn(event['messages_after'])];
  switch (event['outcome']) {
    case 'replaced':
      return `${shownCount(before)} to ${counted(after, 'message')}`;
    case 'failed':
      return textIn(event['error']);
    default:
      return `${textIn(event['outcome'], 20)}, ${counted(before, 'message')}`;
  }
}

/** What a call was about: of the editor what it did and where, else its only text, else all of it. */
function argumentsRow(given: unknown, place: PlaceInLine): string {
  const { command, path } = objectIn(given);
  if (typeof path === 'string') return `${textIn(command, 20)} ${keptText(path, 140)}`.trim();
  if (typeof command === 'string') return keptText(command, 160);
  return preview(given, 160, place);
}
