/** Carries out a call of the capsule's tool: a task is given or a question answered, and the call waits for what comes of it. */

import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server';

import { isLong } from '@svc/kit/yield-to-loop.ts';
import type { ContextId } from '@svc/protocol/ids.ts';
import type { TaskNews, TaskRecord } from '@svc/session/task/task-record.ts';
import type { Submission } from '@svc/session/loop/task-board.ts';
import { may } from '../callers/scopes.ts';
import { isAtRest } from '../core/at-rest.ts';
import { parseCallArguments, mistakenCall, rejectedResult, taskResult, type CallArguments } from './capsule-tool.ts';
import {
  type AskedState,
  type Caller,
  type Context,
  isOfBefore,
  senderOf,
  takesForms,
  takesTasks,
  visibleTask,
} from './caller.ts';
import { cancelTask, refusedTask } from './cancel-task.ts';
import { linksToChanged } from './file-resources.ts';
import { formedApproval, settleByForm } from './approval-form.ts';
import { formOf, type TaskHandle, taskHandle } from './task-handle.ts';

/** Under which a client gives its answer back. */
const answerKey = 'answer';

export type CallAnswer = CallToolResult | InputRequiredResult | TaskHandle;

/** `given` is what the tool is called with. */
export async function callTool(given: unknown, context: Context, caller: Caller): Promise<CallAnswer> {
  const asked = context.mcpReq.requestState<AskedState | undefined>();
  if (asked !== undefined) return await resumed(asked, context, caller);
  const call = parseCallArguments(given);
  if (typeof call === 'string') return mistakenCall(call);
  if (call.taskId !== null) return await answered(call.taskId, call, context, caller);
  const { kind, task } = await submitted(call, context, caller);
  if (kind === 'rejected') return rejectedResult(task);
  const record = caller.core.records.of(task);
  return takesTasks(context, caller) ? taskHandle(record) : await ended(record, context, caller);
}

async function submitted(call: CallArguments, context: Context, caller: Caller): Promise<Submission> {
  const { board } = caller.core.session;
  const { task: text, contextId } = call;
  const prepared = isLong(text) ? await board.prepare(text) : undefined;
  return board.submit({
    text,
    origin: 'message',
    trust: 'untrusted',
    sender: senderOf(context, caller),
    ...(contextId === null ? {} : { contextId: contextId as ContextId }),
    ...(prepared === undefined ? {} : { prepared }),
  });
}

/** The call names a task: its text is the answer that this waits for. */
async function answered(id: string, call: CallArguments, context: Context, caller: Caller): Promise<CallAnswer> {
  const record = visibleTask(id, caller);
  if (record === null) return mistakenCall(refusedTask(id));
  if (call.contextId !== null && call.contextId !== record.contextId) {
    return mistakenCall(`context_id is not that of ${id}`);
  }
  if (answer(record, call.task, context, caller)) return await ended(record, context, caller);
  return mistakenCall(`${id} is ${record.state} and waits for no answer; leave task_id out to give a new task`);
}

/** The client brings what its user said to a question, and the call goes on where it was. */
async function resumed(asked: AskedState, context: Context, caller: Caller): Promise<CallAnswer> {
  const record = asked.principal === caller.principal.name ? visibleTask(asked.taskId, caller) : null;
  if (record === null) return mistakenCall(refusedTask(asked.taskId));
  // Answered by another, or not in time: there is nothing left to say to it.
  const question = record.task.inputWait?.question;
  if (question?.waitId !== asked.waitId) return await ended(record, context, caller);
  const said = caller.sdk.inputResponse(context.mcpReq.inputResponses, answerKey);
  const approval = formedApproval(question, caller);
  if (approval !== null) {
    if (said.kind === 'elicit') settleByForm(approval, said, caller);
    return await ended(record, context, caller);
  }
  if (said.kind === 'elicit' && said.action !== 'accept') {
    await cancelTask(record, caller);
    return await ended(record, context, caller);
  }
  const text = said.kind === 'elicit' ? said.content?.['answer'] : undefined;
  if (typeof text === 'string' && text.isWellFormed()) answer(record, text, context, caller);
  return await ended(record, context, caller);
}

function answer(record: TaskRecord, text: string, context: Context, caller: Caller): boolean {
  const source = { text, sender: senderOf(context, caller) };
  return caller.core.records.answer(record, source, record.newMessage('user', text));
}

/** What the task came to, or what it asks, as the client can take it. */
async function ended(record: TaskRecord, context: Context, caller: Caller): Promise<CallAnswer> {
  if (!isAtRest(record)) {
    await untilAtRest(record, context, caller);
    await caller.core.demandHeld(caller.principal);
  }
  const question = record.state === 'input-required' ? (record.task.inputWait?.question ?? null) : null;
  const form = question === null ? null : formOf(question, caller);
  if (question !== null && form !== null && takesForms(context, caller)) {
    const { states, sdk, principal } = caller;
    if (isOfBefore(context)) cancelWithQuestion(record, question.waitId, context, caller);
    return sdk.inputRequired({
      inputRequests: { [answerKey]: sdk.inputRequired.elicit(form) },
      requestState: await states.mint({ taskId: record.id, waitId: question.waitId, principal: principal.name }),
    });
  }
  const result = taskResult(record);
  if (!record.isSettled) return result;
  const links = may(caller.principal, 'read') ? linksToChanged(record) : [];
  return { ...result, content: [...result.content, ...links] };
}

/** While a client of before 2026 asks its user, the call is still under way, and can be canceled. */
function cancelWithQuestion(record: TaskRecord, waitId: string, { mcpReq }: Context, caller: Caller): void {
  mcpReq.signal.addEventListener(
    'abort',
    () => {
      if (record.task.inputWait?.question.waitId === waitId) void cancelTask(record, caller);
    },
    { once: true },
  );
}

/** Reports to the client what happens meanwhile. A client that takes its call back cancels the task. */
function untilAtRest(record: TaskRecord, { mcpReq }: Context, caller: Caller): Promise<void> {
  const { core } = caller;
  const { signal } = mcpReq;
  const tell = progressTo(mcpReq);
  return new Promise((resolve) => {
    // Once the call is settled, its connection closes: what it was asked about must not be canceled by that.
    const leave = (): void => {
      unfollow();
      signal.removeEventListener('abort', takenBack);
      resolve();
    };
    const takenBack = (): void => {
      void cancelTask(record, caller);
      leave();
    };
    const unfollow = core.records.follow(record, (news) => {
      if (news.kind === 'state' && isAtRest(record)) leave();
      else tell(record, news);
    });
    // A task may wait for one that began before.
    if (record.said !== null) tell(record, { kind: 'state', said: record.said, isInputTimeout: false });
    signal.addEventListener('abort', takenBack);
    if (signal.aborted) takenBack();
  });
}

const maxProgress = 200;

/** Each turn and each call that ended is one step of a progress whose end nobody knows; silent for a client that did not ask for it. */
function progressTo({ _meta, notify }: Context['mcpReq']): (record: TaskRecord, news: TaskNews) => void {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let progress = 0;
  return (record, news) => {
    const message = progressOf(record, news);
    if (message === null) return;
    progress += 1;
    const params = { progressToken, progress, message: message.slice(0, maxProgress).toWellFormed() };
    // A client that has left hears nothing.
    notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}

function progressOf({ task }: TaskRecord, news: TaskNews): string | null {
  if (news.kind === 'call-ended') return `${news.call.toolName} ${news.call.isError ? 'failed' : 'done'}`;
  if (news.kind !== 'state') return null;
  const [said] = news.said?.parts ?? [];
  return said !== undefined && 'text' in said ? said.text : task.statusMessage;
}
