/** Tasks as the OpenAI API shows them. */

import type { TaskRecord } from '@svc/session/task/task-record.ts';
import type { TaskState } from '@svc/session/task/task.ts';

type Json = Readonly<Record<string, unknown>>;

/** What a response says of its request. */
export interface ResponseFacts {
  readonly model: string;
  readonly background: boolean;
  /** The id of the response before it. */
  readonly previous: string | null;
}

const statuses: Readonly<Record<TaskState, string>> = {
  submitted: 'queued',
  working: 'in_progress',
  // A question is what the capsule answers; the next message is for it.
  'input-required': 'completed',
  completed: 'completed',
  failed: 'failed',
  canceled: 'cancelled',
};

/** What the capsule says at the end of a task, or asks in the middle of it; null where it has not said it yet, or never will. */
export function answerOf(record: TaskRecord): string | null {
  if (record.state === 'completed') return record.response ?? '';
  return record.state === 'input-required' ? saidText(record) : null;
}

/** Why a task came to no answer. */
export function reasonOf(record: TaskRecord): string {
  return saidText(record) || `the task is ${record.state}`;
}

function saidText({ said }: TaskRecord): string {
  return (said?.parts ?? []).map((part) => ('text' in part ? part.text : '')).join('');
}

/** The id of the answer's item; a stream numbers what is said on the way there. */
export function itemId({ id, task, state }: TaskRecord): string {
  return state === 'input-required' ? `msg_${id}_q${task.questions}` : `msg_${id}`;
}

export function messageItem(id: string, text: string, status = 'completed'): Json {
  return { type: 'message', id, role: 'assistant', status, content: [textPart(text)] };
}

export function textPart(text: string): Json {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** The task as a response; it holds an answer once there is one. `answerId` is the id of that in a stream. */
export function responseObject(record: TaskRecord, facts: ResponseFacts, answerId = itemId(record)): Json {
  const { state } = record;
  const answer = answerOf(record);
  const isFailed = state === 'failed';
  return {
    id: `resp_${record.id}`,
    object: 'response',
    created_at: createdAt(record),
    status: statuses[state],
    background: facts.background,
    error: isFailed ? { type: 'server_error', code: 'server_error', message: reasonOf(record) } : null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model: facts.model,
    output: answer === null ? [] : [messageItem(answerId, answer)],
    parallel_tool_calls: false,
    previous_response_id: facts.previous,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage: answer === null && !record.isSettled ? null : responseUsage(record),
  };
}

function responseUsage({ task: { usage } }: TaskRecord): Json {
  const { inputTokens, outputTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

function chatUsage({ task: { usage } }: TaskRecord): Json {
  const { inputTokens, outputTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}

export function chatCompletion(record: TaskRecord, model: string, text: string): Json {
  const message = { role: 'assistant', content: text, refusal: null };
  return {
    ...chatHead(record, model, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: chatUsage(record),
  };
}

/** One chunk of a stream. */
export function chatChunk(record: TaskRecord, model: string, delta: Json, finish: 'stop' | null = null): Json {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  return { ...chatHead(record, model, 'chat.completion.chunk'), choices };
}

/** The chunk behind all others, for who asked for it. */
export function usageChunk(record: TaskRecord, model: string): Json {
  return { ...chatHead(record, model, 'chat.completion.chunk'), choices: [], usage: chatUsage(record) };
}

function chatHead(record: TaskRecord, model: string, object: string): Json {
  return { id: `chatcmpl-${record.id}`, object, created: createdAt(record), model };
}

/** The id of a task begins with the milliseconds of its making. */
function createdAt({ id }: TaskRecord): number {
  return Math.floor(Number.parseInt(id.slice('tsk_'.length, 'tsk_'.length + 12), 16) / 1000);
}

export function modelObject(name: string, createdMs: number): Json {
  return { id: name, object: 'model', created: Math.floor(createdMs / 1000), owned_by: 'svc' };
}
