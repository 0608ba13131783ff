/** What a person is shown of the activity of a session that runs in this process. */

import type { Activity } from '@svc/session/task/activity.ts';
import type { Task } from '@svc/session/task/task.ts';
import { unfenced } from '@svc/terminal/screen/shown.ts';
import type { SessionEvent } from './session-event.ts';

/**
 * The events of one activity; most have one or none. A first task is not said again: the person has just given it. `isReasonTold` when it is said elsewhere
 * why a task failed.
 */
export function eventsOf(activity: Activity, isReasonTold: boolean): readonly SessionEvent[] {
  const { kind } = activity;
  switch (kind) {
    case 'task-submitted':
      return activity.task.sender === null && activity.task.origin === 'user' ? [] : [said(activity.task)];
    case 'attempt-started':
      return [{ kind: 'task-started', taskId: activity.task.id }];
    case 'inference-started':
      return [{ kind: 'turn', taskId: activity.task.id, turn: activity.turn }];
    case 'text':
    case 'thinking':
      return [{ kind, taskId: activity.task.id, text: activity.text }];
    case 'whole-reply':
      return [{ kind: 'text', taskId: activity.task.id, text: activity.text }, { kind: 'text-ended' }];
    case 'inference-left':
      return [{ kind: 'text-ended' }];
    case 'inference-ended':
      return usageOf(activity);
    case 'retry-waits':
      return [{ kind: 'retry', reason: activity.why.reason, wait: activity.wait }];
    case 'retried':
      return [{ kind: 'retry', reason: activity.reason, wait: null }];
    case 'call-started': {
      const { id, name, input, digits } = activity.call;
      return [{ kind: 'call', callId: id, name, input, digits }];
    }
    case 'call-ended':
      return [resultOf(activity)];
    case 'hook-artifact':
      return [{ kind: 'shown-by-hook', name: activity.artifact.hookName, content: activity.artifact.content }];
    case 'question':
      return activity.task.offered === null ? [questionOf(activity)] : [];
    case 'question-offered':
      return [questionOf(activity)];
    case 'offer-over': {
      const { task, question, answer } = activity;
      const end = answer === null ? 'canceled' : 'answered';
      return [{ kind: 'question-settled', taskId: task.id, waitId: question.waitId, end, answer }];
    }
    case 'question-settled':
      return [
        {
          kind: 'question-settled',
          taskId: activity.task.id,
          waitId: activity.question.waitId,
          end: activity.end,
          answer: activity.answer,
        },
      ];
    case 'task-settled':
      return [endOf(activity.task, isReasonTold)];
    case 'call-judged':
    case 'file-refused':
    case 'state-changed':
    case 'spend-refused':
    case 'task-canceled':
    case 'attempt-ended':
    case 'task-reopened':
      return [];
    case 'noted': {
      const { event } = activity;
      if (event.event_type !== 'compaction' || event.outcome !== 'replaced') return [];
      return [{ kind: 'shortened', by: event.hook_name ?? '' }];
    }
  }
}

function said({ id: taskId, text, origin }: Task): SessionEvent {
  const by = origin === 'peer' || origin === 'completion' ? origin : 'user';
  return { kind: 'said', taskId, text, by, waiting: 0 };
}

function endOf({ id: taskId, state, failure }: Task, isReasonTold: boolean): SessionEvent {
  return { kind: 'task-ended', taskId, state, reason: isReasonTold ? null : failure };
}

function usageOf({ outcome }: Extract<Activity, { kind: 'inference-ended' }>): readonly SessionEvent[] {
  if (outcome.kind !== 'response') return [];
  const { inputTokens, outputTokens } = outcome.usage;
  return [{ kind: 'usage', tokens: inputTokens + outputTokens }];
}

function resultOf({ input, digits, call, step }: Extract<Activity, { kind: 'call-ended' }>): SessionEvent {
  const { toolName: name, callId, exitCode, truncated: isCut } = call;
  // With what svc says behind the fence, as in a chat.
  const content = unfenced(call.content, call.fenceSource);
  const { isError, denied: isRefused, durationMs } = call;
  return {
    kind: 'result',
    result: { callId, name, input, digits, content, exitCode, isCut, isError, isRefused, durationMs, step },
  };
}

function questionOf({ question }: Extract<Activity, { kind: 'question' | 'question-offered' }>): SessionEvent {
  return { kind: 'question', ...question };
}
