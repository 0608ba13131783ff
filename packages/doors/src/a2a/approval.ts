/** Shows the call that a task waits with, and takes the answer to it out of a message. */

import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { encodeOpenApproval, parseApprovalAnswer } from '@svc/protocol/approval.ts';
import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import { answererOf, type Principal } from '../callers/principal.ts';
import type { DoorCore } from '../core/door-core.ts';
import { faultOf, invalidField } from './errors.ts';
import type { ReceivedA2aMessage } from './params.ts';

/** What the data part of a status holds that waits for approval: all that an answer needs. Returns null for any other status. */
export function approvalData({ state, task }: TaskRecord): JsonObject | null {
  const question = task.inputWait?.question;
  if (state !== 'input-required' || question?.approval === undefined) return null;
  return encodeOpenApproval({ ...question.approval, taskId: task.id, prompt: question.prompt });
}

/**
 * Settles an approval by a message that names its task, and whose one part is the data of `approvals/answer`. False for a message that is no such answer, to a
 * task that waits for none. Throws the refusal 403 for a client that may not say what runs, and the fault of an answer that settles nothing.
 */
export function approves(
  message: ReceivedA2aMessage,
  record: TaskRecord,
  { principal, session }: { readonly principal: Principal; readonly session: Pick<DoorCore['session'], 'approvals'> },
): boolean {
  const waits = record.task.inputWait?.question.approval !== undefined;
  const data = answerIn(message, record.id);
  if (!waits && (data === null || record.task.inputWait !== null)) return false;
  const unsupported = (why: string, more: Readonly<Record<string, string>> = {}): Error =>
    faultOf('UNSUPPORTED_OPERATION', why, { taskId: record.id, ...more });
  if (data === null) {
    throw unsupported(
      'The task waits for an approval, which one data part gives: id, digest and decision of its status',
    );
  }
  const way = answererOf(principal);
  if (way === null) {
    throw new HttpRefusal(
      403,
      'approver_missing',
      'An approval is answered with a door token that has the scope answer.',
    );
  }
  const parsed = parseApprovalAnswer(data);
  if (parsed.kind === 'invalid') throw invalidField('message.parts[0].data', parsed.problem);
  const result = session.approvals?.answer(parsed.answer, { principal: principal.name, way }) ?? { kind: 'unknown' };
  switch (result.kind) {
    case 'settled':
      return true;
    case 'already': {
      const { decision, by } = result.settled;
      throw unsupported(`The approval was settled before: ${decision} by ${by}`, { decision, by });
    }
    case 'elsewhere': {
      const { ways, why } = result;
      throw unsupported(`The approval is answered elsewhere: ${why}`, { answer: ways.join(', ') });
    }
    case 'other-digest':
      throw unsupported('The answer is for another call than the one that waits');
    case 'not-offered':
      throw invalidField('message.parts[0].data', 'option is not offered for this call');
    case 'unknown':
      throw unsupported('No such approval waits');
  }
}

/** Returns null for a message that is not one data part with the id of an approval of the task. */
function answerIn({ parts }: ReceivedA2aMessage, taskId: string): JsonObject | null {
  const [part, another] = parts;
  const data = part !== undefined && another === undefined && 'data' in part ? asJsonObject(part.data) : null;
  const id = data?.['id'];
  return typeof id === 'string' && id.startsWith(`apr_${taskId.replace(/^tsk_/, '')}_`) ? data : null;
}
