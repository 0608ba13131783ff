/** The methods of A2A that answer once, whichever binding they are called through. */

import { rejectedMessage } from '@svc/protocol/frames.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import { isAtRest, untilAtRest } from '../core/at-rest.ts';
import type { DoorCore } from '../core/door-core.ts';
import type { Principal } from '../callers/principal.ts';
import { extendedCard } from './card.ts';
import { type Delivery, visible } from './deliver.ts';
import { A2aFault, faultOf } from './errors.ts';
import { listTasks } from './list-tasks.ts';
import { rejectedTask, taskObject, type TaskView } from './objects.ts';
import { parseList, parseTaskRequest, type SendRequest } from './params.ts';
import type { PushConfigs } from './push/push-configs.ts';

/** An answer as JSON text. */
export type Answer = string;

/** Those with params that every binding reads for itself in the same way. */
export const unaryMethods = {
  GetTask: getTask,
  ListTasks: (params, { principal, core }) => JSON.stringify(listTasks(parseList(params), principal, core.records)),
  CancelTask: cancelTask,
  CreateTaskPushNotificationConfig: (params, { principal, push }) =>
    JSON.stringify(pushed(push).create(params, principal)),
  GetTaskPushNotificationConfig: (params, { principal, push }) => JSON.stringify(pushed(push).get(params, principal)),
  ListTaskPushNotificationConfigs: (params, { principal, push }) =>
    JSON.stringify(pushed(push).list(params, principal)),
  DeleteTaskPushNotificationConfig: (params, { principal, push }) =>
    JSON.stringify(pushed(push).delete(params, principal)),
  GetExtendedAgentCard: (_params, { core }) => {
    if (!core.facts.asksForToken) throw new A2aFault('UNSUPPORTED_OPERATION', 'This agent has no extended card');
    return JSON.stringify(extendedCard(core));
  },
} satisfies Record<string, (params: unknown, caller: Caller) => Answer | Promise<Answer>>;

export type UnaryMethod = keyof typeof unaryMethods;

/** Who calls, and what is called. */
export interface Caller {
  readonly principal: Principal;
  readonly core: DoorCore;
  /** It is null where the manifest names no host to push to. */
  readonly push: PushConfigs | null;
}

/** Throws the fault -32003 where the manifest names no host. */
export function pushed(push: PushConfigs | null): PushConfigs {
  if (push === null) throw new A2aFault('PUSH_NOTIFICATION_NOT_SUPPORTED');
  return push;
}

export function isUnary(method: string): method is UnaryMethod {
  return Object.hasOwn(unaryMethods, method);
}

/**
 * `SendMessage`, once it is delivered: the task when it is over or asks for something, at once with `returnImmediately`. A client that leaves stops
 * waiting; the task goes on.
 */
export function sendMessage(
  request: SendRequest,
  delivery: Delivery,
  { principal, core }: Pick<Caller, 'principal' | 'core'>,
): Answer | Promise<Answer> {
  const answer = (): Answer => answerOf(delivery, request, core);
  if (delivery.kind === 'rejected' || request.returnImmediately || isAtRest(delivery.record)) return answer();
  return untilAtRest(delivery.record, core.records)
    .then(() => core.demandHeld(principal))
    .then(answer);
}

function answerOf(delivery: Delivery, { historyLength }: SendRequest, core: DoorCore): Answer {
  return JSON.stringify({ task: deliveredTask(delivery, { historyLength, artifacts: true }, core) });
}

/** The task of a message as its sender sees it. */
export function deliveredTask(
  delivery: Delivery,
  view: TaskView,
  { session }: DoorCore,
): Readonly<Record<string, unknown>> {
  if (delivery.kind === 'task') return taskObject(delivery.record, view);
  return rejectedTask(delivery.task, session.clock.now(), rejectedMessage);
}

/** Longer answers are encoded each time rather than held twice. */
const maxKept = 16 * 1024;
const encoded = new WeakMap<TaskRecord, { readonly version: number; readonly text: Answer }>();
const whole: TaskView = { historyLength: null, artifacts: true };

/** Clients that poll ask for a task again and again: it is encoded once for each thing that changes. */
function getTask(params: unknown, { principal, core }: Caller): Answer {
  const { id, historyLength } = parseTaskRequest(params);
  const record = visible(id, principal, core);
  if (historyLength !== null) return JSON.stringify(taskObject(record, { historyLength, artifacts: true }));
  const { version } = record;
  const kept = encoded.get(record);
  if (kept !== undefined && kept.version === version) return kept.text;
  const text = JSON.stringify(taskObject(record, whole));
  if (text.length <= maxKept) encoded.set(record, { version, text });
  return text;
}

async function cancelTask(params: unknown, { principal, core }: Caller): Promise<Answer> {
  const { id } = parseTaskRequest(params);
  const record = visible(id, principal, core);
  if (record.isSettled) {
    throw faultOf('TASK_NOT_CANCELABLE', `Task cannot be canceled: it is ${record.state}`, { taskId: record.id });
  }
  await core.session.board.cancel(record.task, principal.name);
  return JSON.stringify(taskObject(record, whole));
}
