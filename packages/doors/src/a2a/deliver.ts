/** Hands messages of A2A to the session: each starts a task, or answers the one that it names. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isLong } from '@svc/kit/yield-to-loop.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { ContextId } from '@svc/protocol/ids.ts';
import type { MessageTags } from '@svc/protocol/message-tags.ts';
import type { KeptMessage, TaskRecord } from '@svc/session/task/task-record.ts';
import type { Sender, Task, TaskSource } from '@svc/session/task/task.ts';
import type { DoorCore } from '../core/door-core.ts';
import { demand } from '../callers/scopes.ts';
import { maySee, type Principal } from '../callers/principal.ts';
import { approves } from './approval.ts';
import { A2aFault, faultOf, invalidField, taskNotFound } from './errors.ts';
import { type ReceivedA2aMessage, skillsField } from './params.ts';

/** Who sent a message, and what came with it. */
export interface Delivered {
  readonly message: ReceivedA2aMessage;
  readonly principal: Principal;
  readonly traceparent: string | undefined;
}

export type Delivery =
  | { readonly kind: 'task'; readonly record: TaskRecord }
  /** There was no room: nobody knows of the task afterwards. */
  | { readonly kind: 'rejected'; readonly task: Task };

/** Does the slow part of recording a long text ahead, in turns of its own. */
export async function prepared({ text }: ReceivedA2aMessage, { session }: DoorCore): Promise<TaskSource['prepared']> {
  return isLong(text) ? await session.board.prepare(text) : undefined;
}

/** Throws the fault of a message that can be handed to nobody. The same message again is its task, and starts nothing. */
export function deliver(delivered: Delivered, core: DoorCore, ahead?: TaskSource['prepared']): Delivery {
  const { message } = delivered;
  if (message.taskId !== null) return { kind: 'task', record: answered(delivered, message.taskId, core) };
  const source = { ...sourceOf(delivered), ...(ahead === undefined ? {} : { prepared: ahead }) };
  const before = sentBefore(source, core);
  if (before !== null) return { kind: 'task', record: before };
  const problem = core.session.skills.problem(message.skills);
  if (problem !== null) throw invalidField(skillsField, `is no good here: ${problem}`);
  const { kind, task } = core.records.submit(source, keptOf(message));
  if (kind !== 'accepted') return { kind: 'rejected', task };
  saveFiles(message, task, core);
  return { kind: 'task', record: core.records.of(task) };
}

/** The task that a message is for: the one that it answers, or that the same message has started before. Returns null for a message that starts one. */
export function taskBefore(delivered: Delivered, core: DoorCore): TaskRecord | null {
  const { message, principal } = delivered;
  if (message.taskId !== null) return visible(message.taskId, principal, core);
  return sentBefore(sourceOf(delivered), core);
}

function sourceOf(delivered: Delivered): TaskSource {
  const { text, contextId, skills } = delivered.message;
  return {
    text,
    origin: 'message',
    trust: 'untrusted',
    sender: senderOf(delivered),
    skills,
    ...(contextId === null ? {} : { contextId: contextId as ContextId }),
  };
}

/** In the turn in which the task was accepted, before it begins. One whose files cannot be there is canceled. */
function saveFiles({ files }: ReceivedA2aMessage, task: Task, { facts, session }: DoorCore): void {
  if (files.every(({ name, bytes }) => facts.outside?.saveInput(name, bytes) === true)) return;
  session.board.cancel(task).catch((error: unknown) => {
    if (!(error instanceof Diagnostic)) throw error;
    // The trace cannot be written: the session cannot go on (D1 "Task states" 2).
    session.trap(error);
  });
  throw new A2aFault('INTERNAL', 'Internal error: a file that came with the message could not be kept');
}

function answered(delivered: Delivered, taskId: string, core: DoorCore): TaskRecord {
  const { message, principal } = delivered;
  demand(principal, ['answer']);
  const record = visible(taskId, principal, core);
  if (message.contextId !== null && message.contextId !== record.contextId) {
    throw invalidField('message.contextId', 'is not that of the task');
  }
  if (approves(message, record, { principal, session: core.session })) return record;
  const source = { text: message.text, sender: senderOf(delivered), answers: record.id };
  const before = sentBefore(source, core);
  if (before !== null) return before;
  if (core.records.answer(record, source, keptOf(message))) {
    saveFiles(message, record.task, core);
    return record;
  }
  const { state } = record;
  const why = record.isSettled ? `it is ${state} and takes no more messages` : `it is ${state} and waits for no input`;
  throw faultOf('UNSUPPORTED_OPERATION', `The task takes no message: ${why}`, { taskId: record.id });
}

/** The record of a task that the principal may know of. */
export function visible(id: string, principal: Principal, { records }: DoorCore): TaskRecord {
  const record = records.find(id);
  if (record === null || !maySee(principal, record.task)) throw taskNotFound(id);
  return record;
}

/** Another message that came with the same id is another message: some clients count theirs anew in each run. */
function sentBefore(
  source: Parameters<DoorCore['session']['board']['sentBefore']>[0],
  core: DoorCore,
): TaskRecord | null {
  const before = core.session.board.sentBefore(source);
  return before === null || before === 'other' ? null : core.records.of(before);
}

function keptOf({ messageId, parts }: ReceivedA2aMessage): KeptMessage {
  return { messageId, from: 'user', parts };
}

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** The id of a message identifies it. An id that no header could carry is replaced by its hash. */
function senderOf({ message: { messageId }, principal, traceparent }: Delivered): Sender {
  const key = visibleAscii.test(messageId) ? messageId : `sha256-${sha256Hex(messageId)}`;
  const tags: MessageTags = traceparent === undefined ? { idempotencyKey: key } : { idempotencyKey: key, traceparent };
  return { principal: principal.name, tags };
}
