/** Calls a capsule that is a parent or a child of this one, and sends a child its task. */

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { ClientError } from '@svc/client/client-error.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import { ownConnection } from '@svc/kit/net/connections.ts';
import { type Clock, pause } from '@svc/kit/clock.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import type { DelegationId } from '@svc/protocol/ids.ts';
import { encodeMessage } from '@svc/protocol/message.ts';
import { encodeMessageTags } from '@svc/protocol/message-tags.ts';
import { encodeTaskOrigin, type Trust } from '@svc/protocol/task-origin.ts';
import { decodeTask } from '@svc/protocol/task-object.ts';

/** A running capsule, as its parent or its child speaks to it. */
export interface CapsuleEndpoint {
  readonly endpoint: URL;
  /** What its listener asks for; null when it asks for nothing. */
  readonly token: Secret | null;
}

interface CapsuleCall {
  readonly method: string;
  readonly params: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The time for the whole exchange. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export type CapsuleAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  /** A JSON-RPC error. */
  | { readonly kind: 'error'; readonly message: string }
  /** Nothing that is JSON-RPC. */
  | { readonly kind: 'other'; readonly status: number }
  /** Nothing. `reason` is a clause for a person. */
  | { readonly kind: 'none'; readonly reason: string };

/** One JSON-RPC call. Never rejects but with the signal's reason. */
export async function callCapsule({ endpoint, token }: CapsuleEndpoint, call: CapsuleCall): Promise<CapsuleAnswer> {
  const { method, params, timeoutMs: callMs, ...options } = call;
  const door = { url: endpoint.href, token: token?.reveal(), fetch: ownConnection, limits: { callMs } };
  try {
    const result = await new CapsuleClient({ ...door, isGated: false }).call(method, params, options);
    return { kind: 'result', result };
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    if (error.code === 'fault') return { kind: 'error', message: error.refusal ?? '' };
    const isOther = ['refused', 'not-json', 'bad-answer'].includes(error.code);
    return isOther ? { kind: 'other', status: error.status ?? 200 } : { kind: 'none', reason: silence(error, callMs) };
  }
}

/** Why no whole answer came, as a clause for a person. */
export function silence({ code, cause, message }: ClientError, timeoutMs: number): string {
  if (code === 'timeout') return `no answer within ${timeoutMs / 1000} s`;
  if (code === 'too-large') return 'the answer is larger than 16 MiB, or holds too many values';
  if (isNetworkError(cause)) return networkReason(cause);
  return cause instanceof Error ? cause.message : message;
}

/** How long the listener of a child may take to come up (D2 "Limits"). */
const deliveryBoundMs = 30_000;

const firstPauseMs = 50;
const maxPauseMs = 1000;

interface TaskDelivery {
  readonly door: CapsuleEndpoint;
  /** The id of one delegation: a message that is sent again with it is the same task. */
  readonly delegationId: DelegationId;
  readonly task: string;
  /** The trust of the delegating task. */
  readonly trust: Trust;
  /** The span that the task hangs on; null without one. */
  readonly traceparent: string | null;
  /** How long to try; the bound of deliveries when that is shorter. */
  readonly withinMs: number;
  /** True once nobody is there any more to deliver to. */
  readonly isOver: () => boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

type TaskDelivered =
  | {
      readonly kind: 'delivered';
      /** The id that the child gave the task. */
      readonly taskId: string;
    }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'undelivered'; readonly reason: string };

/**
 * Sends a child its first user message, again and again while nobody answers; a refusal holds. A child that took it and whose answer was lost does not
 * take it for another (docs/protocol.md "Sending again"). Rejects with the signal's reason.
 */
export async function deliverTask(delivery: TaskDelivery): Promise<TaskDelivered> {
  const { door, delegationId, task, trust, traceparent, isOver, clock, signal } = delivery;
  const boundMs = Math.min(delivery.withinMs, deliveryBoundMs);
  const lateMs = clock.monotonicMs() + boundMs;
  const params = encodeMessage({ messageId: 'delegated-task', role: 'user', text: task });
  const headers = {
    ...encodeTaskOrigin({ kind: 'peer', trust }),
    ...encodeMessageTags({ idempotencyKey: delegationId, traceparent: traceparent ?? undefined }),
  };
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    // Another program may listen at its port by now, and is not shown the token.
    if (isOver()) return undelivered('it ended before it had its task');
    const timeoutMs = Math.max(1, Math.ceil(lateMs - clock.monotonicMs()));
    const answer = await callCapsule(door, { method: 'message/send', params, headers, timeoutMs, signal });
    if (answer.kind === 'error') return undelivered(`it refused its task: ${printable(answer.message)}`);
    if (answer.kind === 'result') return accepted(answer.result);
    const reason = answer.kind === 'none' ? answer.reason : `it answered ${answer.status}, and not with JSON-RPC`;
    if (clock.monotonicMs() + pauseMs > lateMs) {
      return undelivered(`its task could not be delivered within ${boundMs / 1000} s: ${reason}`);
    }
    await pause(clock, pauseMs, signal);
  }
}

function accepted(result: unknown): TaskDelivered {
  const task = decodeTask(result);
  if (task === null) return undelivered('what it answered to its task is not a task');
  if (task.state !== 'rejected') return { kind: 'delivered', taskId: task.id };
  return undelivered(`it rejected its task${task.message === null ? '' : `: ${printable(task.message)}`}`);
}

function undelivered(reason: string): TaskDelivered {
  return { kind: 'undelivered', reason };
}
