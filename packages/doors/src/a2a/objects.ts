/** Tasks, messages and events as A2A writes them. */

import type { DispatchedCall } from '@svc/session/tools/tool.ts';
import type { KeptArtifact, KeptMessage, TaskRecord } from '@svc/session/task/task-record.ts';
import type { TaskState } from '@svc/session/task/task.ts';
import { approvalData } from './approval.ts';

/** The extension under which a status reports a call that has ended. */
export const callExtension = 'urn:svc:a2a:calls:1';
/** Marks a status that follows a question which nobody answered in time. */
export const inputTimeoutExtension = 'urn:svc:a2a:input-timeout:1';
/** Says that a status has a call that waits for approval as a data part, and that a data part answers it. */
export const approvalExtension = 'urn:svc:a2a:approvals:1';

/** The one artifact that holds what the capsule answers. */
export const responseId = 'response';

const states = {
  submitted: 'TASK_STATE_SUBMITTED',
  working: 'TASK_STATE_WORKING',
  'input-required': 'TASK_STATE_INPUT_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  canceled: 'TASK_STATE_CANCELED',
} as const satisfies Record<TaskState, string>;

export function stateName(state: TaskState): string {
  return states[state];
}

export interface TaskView {
  /** At most so many messages, the newest; null is all. */
  readonly historyLength: number | null;
  readonly artifacts: boolean;
}

type Json = Readonly<Record<string, unknown>>;

/** A `Task`. */
export function taskObject(record: TaskRecord, { historyLength, artifacts }: TaskView): Json {
  const { id, contextId, messages } = record;
  const history = historyLength === 0 ? [] : messages.slice(-(historyLength ?? messages.length));
  const made = artifacts ? artifactsOf(record) : [];
  return {
    id,
    contextId,
    status: statusOf(record),
    ...(made.length === 0 ? {} : { artifacts: made }),
    ...(history.length === 0 ? {} : { history: history.map((message) => messageObject(record, message)) }),
  };
}

/** The `Task` that there was no room for. */
export function rejectedTask({ id, contextId }: Pick<TaskRecord, 'id' | 'contextId'>, at: number, why: string): Json {
  const message = { messageId: `${id}-1`, contextId, taskId: id, role: 'ROLE_AGENT', parts: [{ text: why }] };
  const timestamp = new Date(at).toISOString();
  return { id, contextId, status: { state: 'TASK_STATE_REJECTED', message, timestamp } };
}

function statusOf(record: TaskRecord): Json {
  const { state, said, changedMs } = record;
  const data = approvalData(record);
  const message = said === null || data === null ? said : { ...said, parts: [...said.parts, { data }] };
  return {
    state: states[state],
    ...(message === null ? {} : { message: messageObject(record, message) }),
    timestamp: new Date(changedMs).toISOString(),
  };
}

function messageObject({ id, contextId }: TaskRecord, { messageId, from, parts }: KeptMessage): Json {
  return { messageId, contextId, taskId: id, role: from === 'user' ? 'ROLE_USER' : 'ROLE_AGENT', parts };
}

function artifactsOf({ response, artifacts }: TaskRecord): Json[] {
  const made = artifacts.map(artifactObject);
  return response === null ? made : [artifactObject({ id: responseId, name: responseId, text: response }), ...made];
}

function artifactObject({ id, name, text, files }: KeptArtifact): Json {
  return { artifactId: id, name, parts: files ?? [{ text: text.toWellFormed() }] };
}

/** A `StreamResponse` with the status as it is now. */
export function statusUpdate(record: TaskRecord, metadata?: Json): Json {
  const { id: taskId, contextId } = record;
  const update = { taskId, contextId, status: statusOf(record) };
  return { statusUpdate: metadata === undefined ? update : { ...update, metadata } };
}

/** A `StreamResponse` with a chunk of an artifact, or with all of it. */
export function artifactUpdate(
  { id: taskId, contextId }: TaskRecord,
  artifact: KeptArtifact,
  { append, lastChunk }: { readonly append: boolean; readonly lastChunk: boolean },
): Json {
  return { artifactUpdate: { taskId, contextId, artifact: artifactObject(artifact), append, lastChunk } };
}

/** What a status reports of a call: never its result, which is no output of the task. */
export function callMetadata(call: DispatchedCall): Json {
  const { toolName: tool, callId, isError, durationMs, exitCode, truncated } = call;
  return { [callExtension]: { tool, callId, isError, durationMs, exitCode, truncated } };
}

/**
 * The JSON of an event of a stream. It has the three line ends that only Unicode knows as escapes: the official Python client takes them for
 * the end of a line of the stream.
 */
export function eventJson(event: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(event).replaceAll(
    /[\u0085\u2028\u2029]/g,
    (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
