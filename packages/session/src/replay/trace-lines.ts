/** Writes the trace of a session from its activity. */

import type { TraceEventId } from '@svc/protocol/ids.ts';
import type { Trace, TraceEvent } from '@svc/record/trace/events.ts';
import { callTrace } from '../tools/inventory.ts';
import type { Activity, ActivityListener } from '../task/activity.ts';
import type { Usage, ReportedUsage } from '../model/driver-notes.ts';

/**
 * The lines of everything that happens after `session_start`, whose id is given (docs/trace.md). Lines of an attempt have its `task_start` as their
 * parent, all others `session_start`. Throws the Diagnostic of a line that cannot be written.
 */
export function traceLines(trace: Trace, sessionStart: TraceEventId): ActivityListener {
  /** The line at which the running attempt began, with its task. */
  let attempt: { readonly taskId: string; readonly start: TraceEventId } | null = null;
  return (activity) => {
    const line = lineOf(activity);
    if (line === null) return;
    const { event, parent } = line;
    const prepared = activity.kind === 'task-submitted' ? activity.prepared : undefined;
    const isOfAttempt = parent === 'attempt' && attempt !== null && attempt.taskId === activity.task?.id;
    const id = trace.write(event, isOfAttempt && attempt !== null ? attempt.start : sessionStart, prepared);
    if (activity.kind === 'attempt-started') attempt = { taskId: activity.task.id, start: id };
  };
}

interface Line {
  readonly event: TraceEvent;
  readonly parent: 'session' | 'attempt';
}

/** Returns null where the trace has no line of it. */
function lineOf(activity: Activity): Line | null {
  switch (activity.kind) {
    case 'task-submitted': {
      const { id, contextId, origin, trust, lane, text, sender } = activity.task;
      const traceparent = sender?.tags.traceparent;
      const event = {
        event_type: 'task_received',
        task_id: id,
        context_id: contextId,
        origin,
        trust,
        lane,
        ...principalOf(sender?.principal ?? null),
        ...(traceparent === undefined ? {} : { traceparent }),
        text,
      } as const;
      return { event, parent: 'session' };
    }
    case 'attempt-started': {
      const event = { event_type: 'task_start', task_id: activity.task.id, attempt: activity.attempt } as const;
      return { event, parent: 'session' };
    }
    case 'inference-ended':
      return { event: inferenceLine(activity), parent: 'attempt' };
    case 'call-ended': {
      const { task, turn, input, digits, call } = activity;
      const event = callTrace({ taskId: task.id, turn, input, call });
      return { event: digits === undefined ? event : { ...event, digits }, parent: 'attempt' };
    }
    case 'question-settled': {
      const { task, question, end, durationMs } = activity;
      const asked = { event_type: 'task_input_required', task_id: task.id, prompt: question.prompt } as const;
      const by = principalOf(end === 'answered' ? task.answeredBy : null);
      return { event: { ...asked, outcome: end, ...by, duration_ms: durationMs }, parent: 'attempt' };
    }
    case 'spend-refused': {
      const { ceiling, spent, estimate } = activity.refusal;
      const event = {
        event_type: 'spend_ceiling_reached',
        task_id: activity.task.id,
        ceiling,
        spent,
        estimate,
      } as const;
      return { event, parent: 'attempt' };
    }
    case 'task-canceled': {
      const queued = activity.announcement !== null;
      const { id, canceledBy } = activity.task;
      const event = { event_type: 'task_canceled', task_id: id, queued, ...principalOf(canceledBy) } as const;
      return { event, parent: queued ? 'session' : 'attempt' };
    }
    case 'attempt-ended':
      return { event: endLine(activity), parent: 'attempt' };
    case 'task-reopened': {
      const { task, attempt, feedback } = activity;
      const event = { event_type: 'task_reopened', task_id: task.id, attempt, feedback } as const;
      return { event, parent: 'session' };
    }
    case 'noted':
      return { event: activity.event, parent: activity.task === null ? 'session' : 'attempt' };
    case 'state-changed':
    case 'inference-started':
    case 'text':
    case 'thinking':
    case 'inference-left':
    case 'retry-waits':
    case 'retried':
    case 'call-started':
    case 'call-judged':
    case 'file-refused':
    case 'question':
    case 'question-offered':
    case 'offer-over':
    case 'whole-reply':
    case 'hook-artifact':
    case 'task-settled':
      return null;
  }
}

function principalOf(principal: string | null): { principal?: string } {
  return principal === null ? {} : { principal };
}

function inferenceLine(ended: Extract<Activity, { kind: 'inference-ended' }>): TraceEvent {
  const { task, turn, request, outcome, retries, host, firstMs, startMs, durationMs } = ended;
  const answered = outcome.kind === 'response';
  return {
    event_type: 'inference',
    task_id: task.id,
    turn,
    model: request.model,
    outcome: outcome.kind,
    stop_reason: answered ? outcome.response.stopReason : null,
    ...(answered ? {} : { error: outcome.error }),
    usage: answered ? usageLine(outcome.usage) : null,
    ...(retries.length === 0 ? {} : { retries: [...retries] }),
    ...(answered ? cacheLine(outcome.response.usage) : {}),
    ...(host === null ? {} : { host }),
    ...(firstMs === null ? {} : { ttfb_ms: firstMs }),
    start_ms: startMs,
    duration_ms: durationMs,
  };
}

function endLine(ended: Extract<Activity, { kind: 'attempt-ended' }>): TraceEvent {
  const { task, state, message, error, turns, usage, durationMs } = ended;
  return {
    event_type: 'task_end',
    task_id: task.id,
    state,
    message,
    ...(error === undefined ? {} : { error }),
    turns,
    usage: usageLine(usage),
    duration_ms: durationMs,
  };
}

function usageLine({ inputTokens, outputTokens }: Usage): { input_tokens: number; output_tokens: number } {
  return { input_tokens: inputTokens, output_tokens: outputTokens };
}

function cacheLine({ cacheReadTokens, cacheWriteTokens }: Partial<ReportedUsage> = {}): {
  cache_read_tokens?: number;
  cache_write_tokens?: number;
} {
  return {
    ...(cacheReadTokens === undefined ? {} : { cache_read_tokens: cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cache_write_tokens: cacheWriteTokens }),
  };
}
