/** Reads the live events of a capsule: text as it comes, calls as they begin and end. Writing is in `live-events.ts`. */

import { maxFrameValues } from './decode-frame.ts';
import type { ReceivedFrame } from './frame-reader.ts';
import { asJsonObject, asStrings, type JsonObject, stringOr, wholeOrNull } from './json-object.ts';
import { parseJsonText } from './json-text.ts';
import type { LiveEvent, LiveTask, RetryWaiting, Snapshot, TokenCount } from './live-events.ts';
import { decodeAskedApproval } from './approval.ts';
import type { Question } from './question.ts';

/** Readers keep ids to identify tasks, questions and calls: a longer one makes an event that is not read. */
const maxId = 1024;

/** Characters of data of an event of one task: its longest text takes 64 KiB. */
const maxData = 256 * 1024;
/** For a snapshot, which has 100 tasks. */
const maxSnapshot = 8 * 1024 * 1024;

/**
 * What an event says; null for one that is not known, whose data is too long or no object, or that names no task where it is about one. Any other key that is
 * missing or of another form is taken for empty, unknown keys are passed over.
 */
export function decodeLiveEvent({ event, data }: ReceivedFrame): LiveEvent | null {
  if (!known.has(event)) return null;
  if (data.length > (event === 'snapshot' ? maxSnapshot : maxData)) return null;
  const parsed = parseJsonText(data, maxFrameValues);
  const fields = parsed.kind === 'json' ? asJsonObject(parsed.value) : null;
  if (fields === null) return null;
  if (event === 'snapshot') return decodeSnapshot(fields);
  const taskId = idIn(fields, 'task_id');
  return taskId === null ? null : decodeOfTask(event, taskId, fields);
}

const known: ReadonlySet<string> = new Set([
  'snapshot',
  'task_received',
  'task_started',
  'waiting_for_model',
  'retry',
  'usage',
  'call_start',
  'output',
  'call_end',
  'refusal',
  'question',
  'question_settled',
  'task_settled',
] satisfies LiveEvent['event'][]);

function decodeOfTask(event: string, taskId: string, fields: JsonObject): LiveEvent | null {
  const turn = countIn(fields, 'turn');
  switch (event) {
    case 'task_received':
      return {
        event,
        taskId,
        contextId: textIn(fields, 'context_id'),
        origin: textIn(fields, 'origin'),
        principal: stringOr(fields['principal'], null),
        text: textIn(fields, 'text'),
        textCut: fields['text_cut'] === true,
        queued: countIn(fields, 'queued'),
      };
    case 'task_started':
      return { event, taskId, attempt: countIn(fields, 'attempt') };
    case 'waiting_for_model':
      return { event, taskId, turn };
    case 'retry':
      return { event, taskId, turn, reason: textIn(fields, 'reason'), wait: waitIn(fields) };
    case 'usage': {
      const durationMs = countIn(fields, 'duration_ms');
      const total = tokensIn(asJsonObject(fields['total']));
      return { event, taskId, turn, model: textIn(fields, 'model'), ...tokensIn(fields), durationMs, total };
    }
    case 'call_start': {
      const argumentsText = stringOr(fields['arguments_text'], null);
      const given = argumentsText === null ? (fields['arguments'] ?? null) : null;
      return { event, taskId, turn, ...callIn(fields), arguments: given, argumentsText };
    }
    case 'output':
      return {
        event,
        taskId,
        turn,
        ...callIn(fields),
        text: textIn(fields, 'text'),
        leftOut: countIn(fields, 'left_out'),
      };
    case 'call_end':
      return {
        event,
        taskId,
        turn,
        ...callIn(fields),
        exitCode: wholeOrNull(fields['exit_code']),
        isError: fields['is_error'] === true,
        denied: fields['denied'] === true,
        durationMs: countIn(fields, 'duration_ms'),
        step: wholeOrNull(fields['step']),
      };
    case 'refusal':
      return { event, taskId, what: textIn(fields, 'what'), reason: textIn(fields, 'reason') };
    case 'question': {
      const question = decodeQuestion(taskId, fields);
      return question === null ? null : { event, ...question };
    }
    case 'question_settled': {
      const waitId = idIn(fields, 'wait_id');
      if (waitId === null) return null;
      return { event, taskId, waitId, end: textIn(fields, 'end'), answer: stringOr(fields['answer'], null) };
    }
    case 'task_settled':
      return {
        event,
        taskId,
        state: textIn(fields, 'state'),
        reason: stringOr(fields['reason'], null),
        turns: countIn(fields, 'turns'),
        usage: tokensIn(asJsonObject(fields['usage'])),
        durationMs: countIn(fields, 'duration_ms'),
      };
    default:
      return null;
  }
}

function decodeSnapshot(fields: JsonObject): Snapshot {
  const tasks: readonly unknown[] = Array.isArray(fields['tasks']) ? fields['tasks'] : [];
  const skills = asStrings(fields['skills']);
  return {
    event: 'snapshot',
    sessionId: textIn(fields, 'session_id'),
    name: textIn(fields, 'name'),
    version: textIn(fields, 'version'),
    model: textIn(fields, 'model'),
    containment: textIn(fields, 'containment'),
    methods: asStrings(fields['methods']) ?? [],
    usage: tokensIn(asJsonObject(fields['usage'])),
    tasks: tasks.flatMap((task) => decodeLiveTask(asJsonObject(task)) ?? []),
    tasksLeftOut: countIn(fields, 'tasks_left_out'),
    ...(skills === null || skills === undefined ? {} : { skills }),
  };
}

function decodeLiveTask(fields: JsonObject | null): LiveTask | null {
  const taskId = fields === null ? null : idIn(fields, 'task_id');
  if (fields === null || taskId === null) return null;
  return {
    taskId,
    contextId: textIn(fields, 'context_id'),
    state: textIn(fields, 'state'),
    origin: textIn(fields, 'origin'),
    text: textIn(fields, 'text'),
    question: decodeQuestion(taskId, asJsonObject(fields['question'])),
  };
}

function decodeQuestion(taskId: string, fields: JsonObject | null): Question | null {
  const waitId = fields === null ? null : idIn(fields, 'wait_id');
  if (fields === null || waitId === null) return null;
  const approval = decodeAskedApproval(fields['approval']);
  return { taskId, waitId, prompt: textIn(fields, 'prompt'), ...(approval === null ? {} : { approval }) };
}

function waitIn(fields: JsonObject): RetryWaiting | null {
  if (wholeOrNull(fields['wait_ms']) === null) return null;
  return {
    status: wholeOrNull(fields['status']),
    waitMs: countIn(fields, 'wait_ms'),
    attempt: countIn(fields, 'attempt'),
    of: countIn(fields, 'of'),
  };
}

function callIn(fields: JsonObject): { readonly callId: string | null; readonly toolName: string } {
  return { callId: idIn(fields, 'call_id'), toolName: textIn(fields, 'tool_name') };
}

function tokensIn(fields: JsonObject | null): TokenCount {
  if (fields === null) return { inputTokens: 0, outputTokens: 0 };
  return { inputTokens: countIn(fields, 'input_tokens'), outputTokens: countIn(fields, 'output_tokens') };
}

function idIn(fields: JsonObject, key: string): string | null {
  const id = fields[key];
  return typeof id === 'string' && id.length <= maxId ? id : null;
}

function textIn(fields: JsonObject, key: string): string {
  return stringOr(fields[key], '');
}

function countIn(fields: JsonObject, key: string): number {
  return Math.max(0, wholeOrNull(fields[key]) ?? 0);
}
