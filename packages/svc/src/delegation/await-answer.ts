import { type Clock, pause } from '@svc/kit/clock.ts';
import { decodeTask, type TaskFacts } from '@svc/protocol/task-object.ts';
import { callCapsule } from './capsule-call.ts';
import type { ReadyChild } from './launch-child.ts';

export type Answer =
  | { readonly kind: 'answered'; readonly text: string }
  /** `reason` is a clause for a person, with words of the child in it. */
  | { readonly kind: 'unanswered'; readonly reason: string };

export interface AnswerWait {
  /** From when the child was ready. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const firstPauseMs = 50;
const longestPauseMs = 1000;
const callTimeoutMs = 10_000;

/** Asks for the task until it has ended. Rejects with the signal's reason. */
export async function awaitAnswer(
  taskId: string,
  { door, program, readyMs }: ReadyChild,
  { deadlineMs, clock, signal }: AnswerWait,
): Promise<Answer> {
  const call = { method: 'tasks/get', params: { id: taskId }, timeoutMs: callTimeoutMs, signal };
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const wasOver = program.isOver;
    const told = await callCapsule(door, call);
    if (told.kind === 'error') return unanswered(`it does not tell of its task: ${told.message}`);
    const task = told.kind === 'result' ? decodeTask(told.result) : null;
    if (told.kind === 'result' && task === null) return unanswered('what it tells of its task is no task');
    const answer = task === null ? null : answerOf(task);
    if (answer !== null) return answer;
    if (wasOver) return unanswered(goneReason);
    if (clock.monotonicMs() - readyMs >= deadlineMs) return unanswered(`still running after ${deadlineMs / 1000} s`);
    await pause(clock, pauseMs, signal);
  }
}

const goneReason =
  'it ended before its answer was read: a capsule of a step declares lifecycle.task_acceptance: queue and after_task: sleep';

/** Null while the task may still come to something. */
function answerOf(task: TaskFacts): Answer | null {
  const why = task.message === null ? '' : `: ${task.message}`;
  switch (task.state) {
    case 'completed':
      return { kind: 'answered', text: task.response ?? '' };
    case 'failed':
    case 'canceled':
    case 'rejected':
      return unanswered(`its task is ${task.state}${why}`);
    case 'input-required':
      return unanswered(`it asks for input, which nobody gives in a plan: ${task.prompt ?? ''}`);
    default:
      return null;
  }
}

function unanswered(reason: string): Answer {
  return { kind: 'unanswered', reason };
}
