/** The tasks extension of the Model Context Protocol: a call that answers with a task at once, and the methods to follow it by. */

import type { CallToolResult, ElicitRequestFormParams } from '@modelcontextprotocol/server';

import { mintedMs } from '@svc/protocol/ids.ts';
import { asJsonObject } from '@svc/protocol/json-object.ts';
import type { Question, QuestionName } from '@svc/protocol/question.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import { type Caller, type Context, senderOf, visibleTask } from './caller.ts';
import { approvalForm, formedApproval, settleByForm } from './approval-form.ts';
import { cancelTask, refusedTask } from './cancel-task.ts';
import { taskResult } from './capsule-tool.ts';
import { linksToChanged } from './file-resources.ts';

export interface TaskHandle extends Record<string, unknown> {
  readonly resultType: 'task' | 'complete';
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'cancelled';
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: null;
  readonly pollIntervalMs: number;
}

const pollIntervalMs = 1000;

/** What a call answers a client that asks for the rest by itself. */
export function taskHandle(record: TaskRecord): TaskHandle {
  return {
    resultType: 'task',
    taskId: record.id,
    status: statusOf(record),
    createdAt: new Date(mintedMs(record.id)).toISOString(),
    lastUpdatedAt: new Date(record.changedMs).toISOString(),
    ttlMs: null,
    pollIntervalMs,
  };
}

/** The form of a question, for the user of the client. Returns null for a call that this client may not approve. */
export function formOf(question: Question, caller: Caller): ElicitRequestFormParams | null {
  const approval = formedApproval(question, caller);
  if (approval !== null) return approvalForm(approval, caller);
  return question.approval === undefined ? answerForm(question) : null;
}

function answerForm({ prompt }: Question): ElicitRequestFormParams {
  return {
    mode: 'form',
    message: prompt.toWellFormed(),
    requestedSchema: {
      type: 'object',
      properties: { answer: { type: 'string', title: 'Answer' } },
      required: ['answer'],
    },
  };
}

/** A task that failed is one that completed with an error, as a call is. */
function statusOf({ state }: TaskRecord): TaskHandle['status'] {
  switch (state) {
    case 'submitted':
    case 'working':
      return 'working';
    case 'input-required':
      return 'input_required';
    case 'canceled':
      return 'cancelled';
    case 'completed':
    case 'failed':
      return 'completed';
  }
}

/** By their names; `record` is the task that the method is for. */
export const taskMethods = {
  'tasks/get': getTask,
  'tasks/update': updateTask,
  'tasks/cancel': async (record, _context, caller) => {
    await cancelTask(record, caller);
    return { resultType: 'complete' };
  },
} satisfies Record<string, TaskMethod>;

type TaskMethod = (record: TaskRecord, context: Context, caller: Caller) => Promise<Record<string, unknown>>;

/** The task that a method names. Throws `-32602` for one that is not there. */
export function namedTask(params: unknown, caller: Caller): TaskRecord {
  const { taskId } = asJsonObject(params) ?? {};
  const record = typeof taskId === 'string' ? visibleTask(taskId, caller) : null;
  if (record !== null) return record;
  const { ProtocolError, ProtocolErrorCode } = caller.sdk;
  const why = typeof taskId === 'string' ? refusedTask(taskId.slice(0, 64)) : 'taskId must be a string';
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, why);
}

async function getTask(record: TaskRecord, _context: Context, caller: Caller): Promise<Record<string, unknown>> {
  const { state, task } = record;
  const handle = { ...taskHandle(record), resultType: 'complete' };
  const question = task.inputWait?.question;
  const form = question === undefined ? null : formOf(question, caller);
  if (state === 'input-required' && question !== undefined && form !== null) {
    return { ...handle, inputRequests: { [keyOf(question)]: caller.sdk.inputRequired.elicit(form) } };
  }
  if (!record.isSettled || state === 'canceled') return handle;
  const result: CallToolResult = taskResult(record);
  const content = [...result.content, ...linksToChanged(record)];
  return { ...handle, result: { ...result, content, resultType: 'complete' } };
}

/** An answer to a question that is not asked any more is ignored. */
async function updateTask(record: TaskRecord, context: Context, caller: Caller): Promise<Record<string, unknown>> {
  const question = record.task.inputWait?.question;
  const key = question === undefined ? '' : keyOf(question);
  const said = caller.sdk.inputResponse(context.mcpReq.inputResponses, key);
  const approval = question === undefined ? null : formedApproval(question, caller);
  if (approval !== null && said.kind === 'elicit') settleByForm(approval, said, caller);
  if (question !== undefined && question.approval === undefined && said.kind === 'elicit') {
    const text = said.content?.['answer'];
    if (said.action !== 'accept') await cancelTask(record, caller);
    else if (typeof text === 'string' && text.isWellFormed()) {
      const source = { text, sender: senderOf(context, caller) };
      caller.core.records.answer(record, source, record.newMessage('user', text));
    }
  }
  return { resultType: 'complete' };
}

/** Never the same for two questions. */
function keyOf({ taskId, waitId }: QuestionName): string {
  return `${taskId}-${waitId}`;
}
