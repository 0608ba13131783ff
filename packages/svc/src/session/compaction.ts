import type { CompactionVerdict, HookedTask, SessionHooks } from '../hooks/session-hooks.ts';
import type { InferenceRequest, Message } from '../inference/driver.ts';
import type { TraceEvent } from '../trace/events.ts';
import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { contextProblem } from './compacted-context.ts';
import type { ContextWindow } from './context-window.ts';
import type { TaskFailure } from './task-state.ts';

export interface CompactionDeps {
  readonly hooks: SessionHooks;
  readonly hooked: HookedTask;
  readonly clock: Clock;
  readonly record: (event: TraceEvent) => void;
}

export type Compaction =
  /** The request goes out as it is. */
  | { readonly kind: 'none' }
  | { readonly kind: 'replaced'; readonly messages: readonly Message[] }
  /** The task fails (D1 "Task states"). */
  | Extract<TaskFailure, { kind: 'failed' }>;

/** Asks the hooks for a shorter conversation when a request nears the limit of its model. */
export async function compactIfNear(
  request: InferenceRequest,
  window: ContextWindow,
  { hooks, hooked, clock, record }: CompactionDeps,
): Promise<Compaction> {
  const overflow = window.overflow(request);
  if (overflow === null) return { kind: 'none' };
  const startedMs = clock.monotonicMs();
  const { messages } = request;
  const verdict = await hooks.compact(hooked, { messages, ...overflow });
  if (verdict.kind === 'nobody' || hooked.signal.aborted) return { kind: 'none' };
  const compaction = judged(verdict);
  if (verdict.kind === 'replaced' && compaction.kind === 'failed') hooks.refused('on-compaction', compaction.error);
  record({
    event_type: 'compaction',
    task_id: hooked.id,
    outcome: verdict.kind === 'unchanged' ? 'unchanged' : compaction.kind === 'replaced' ? 'replaced' : 'failed',
    ...(compaction.kind === 'failed' ? { error: compaction.error } : {}),
    ...(verdict.kind === 'unchanged' ? {} : { hook_name: verdict.hookName }),
    estimated_tokens: overflow.estimatedTokens,
    max_tokens: overflow.maxTokens,
    messages_before: messages.length,
    messages_after: compaction.kind === 'replaced' ? compaction.messages.length : messages.length,
    duration_ms: elapsedMs(clock, startedMs),
  });
  if (compaction.kind !== 'failed') return compaction;
  return { kind: 'failed', error: `the conversation could not be compacted: ${compaction.error}` };
}

function judged(verdict: Exclude<CompactionVerdict, { kind: 'nobody' }>): Compaction {
  if (verdict.kind === 'failed') return { kind: 'failed', error: verdict.error };
  if (verdict.kind === 'unchanged') return { kind: 'none' };
  const problem = contextProblem(verdict.messages);
  return problem === null ? { kind: 'replaced', messages: verdict.messages } : { kind: 'failed', error: problem };
}
