import { type Clock, pause } from '@svc/kit/clock.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { encodeMessage } from '@svc/protocol/message.ts';
import { encodeTaskOrigin } from '@svc/protocol/task-origin.ts';
import { decodeTask } from '@svc/protocol/task-object.ts';
import { callCapsule, type CapsuleDoor } from './capsule-call.ts';
import type { Trust } from '@svc/protocol/task-origin.ts';

/** How long the listener of a child may take to come up (D2 "Limits"). */
export const deliveryBoundMs = 30_000;

const firstPauseMs = 50;
const longestPauseMs = 1000;

export interface TaskDelivery {
  readonly door: CapsuleDoor;
  readonly task: string;
  /** Of the delegating task. */
  readonly trust: Trust;
  /** How long to try; the bound of deliveries when that is shorter. */
  readonly withinMs: number;
  /** True once nobody is there any more to deliver to. */
  readonly isOver: () => boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type TaskDelivered =
  | {
      readonly kind: 'delivered';
      /** As the child knows it. */
      readonly taskId: string;
    }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'undelivered'; readonly reason: string };

/** Sends a child its first user message, again and again while nobody answers; a refusal holds. Rejects with the signal's reason. */
export async function deliverTask(delivery: TaskDelivery): Promise<TaskDelivered> {
  const { door, task, trust, isOver, clock, signal } = delivery;
  const boundMs = Math.min(delivery.withinMs, deliveryBoundMs);
  const lateMs = clock.monotonicMs() + boundMs;
  const params = encodeMessage({ messageId: 'delegated-task', role: 'user', text: task });
  const headers = encodeTaskOrigin({ kind: 'peer', trust });
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const timeoutMs = Math.max(1, Math.ceil(lateMs - clock.monotonicMs()));
    const answer = await callCapsule(door, { method: 'message/send', params, headers, timeoutMs, signal });
    if (answer.kind === 'error') return undelivered(`it refused its task: ${printable(answer.message)}`);
    if (answer.kind === 'result') return accepted(answer.result);
    const reason = answer.kind === 'none' ? answer.reason : `it answered ${answer.status}, and not with JSON-RPC`;
    if (isOver()) return undelivered('it ended before it had its task');
    if (clock.monotonicMs() + pauseMs > lateMs) {
      return undelivered(`its task could not be delivered within ${boundMs / 1000} s: ${reason}`);
    }
    await pause(clock, pauseMs, signal);
  }
}

function accepted(result: unknown): TaskDelivered {
  const task = decodeTask(result);
  if (task === null) return undelivered('what it answered to its task is no task');
  if (task.state !== 'rejected') return { kind: 'delivered', taskId: task.id };
  return undelivered(`it rejected its task${task.message === null ? '' : `: ${printable(task.message)}`}`);
}

function undelivered(reason: string): TaskDelivered {
  return { kind: 'undelivered', reason };
}
