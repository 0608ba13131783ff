/** Lets a hook ask the model of the capsule. */

import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import {
  type Driver,
  type DriverOutcome,
  type InferenceRequest,
  type InferenceResponse,
  judgeResponse,
} from '../model/driver.ts';
import type { Usage } from '../model/driver-notes.ts';
import { refusalSentence, type SpendRefusal } from '../model/spend-meter.ts';
import type { HookTimer } from './blocking-hooks.ts';
import { DriverTrap, type Complete, type CompletionAsker, type CompletionRequest, underSignals } from './hook.ts';

/** The session's account of tokens. */
interface SpendAccount {
  /** Returns null when there is room for the call. */
  check(request: InferenceRequest): SpendRefusal | null;
  /** Sets aside what the call may come to, until the function it gives is called. */
  hold(request: InferenceRequest): () => void;
  record(request: InferenceRequest, response: InferenceResponse): Usage;
}

interface CompletionDeps {
  readonly driver: Driver;
  readonly model: string;
  /** `inference.max_tokens`, the most that a hook can have. */
  readonly maxTokens: number;
  readonly spend: SpendAccount;
  readonly clock: Pick<Clock, 'monotonicMs' | 'now'>;
  readonly timer: HookTimer;
  /** Throws the Diagnostic of a trace that cannot be written. */
  readonly record: (event: TraceEvent) => void;
  /** How long one completion may take. */
  readonly limitMs: number;
}

/**
 * `svc:runtime/inference` for hooks: one completion through the capsule's driver, without tools and outside of any conversation,
 * counted by the session's spend and refused at its ceiling (docs/hooks.md "Asking the model").
 */
export function hookCompletion(deps: CompletionDeps): Complete {
  return async (asked, asker) => {
    const request = requestOf(asked, deps);
    const refusal = deps.spend.check(request);
    if (refusal !== null) throw new Error(refusalSentence(refusal, 'the call'));
    const release = deps.spend.hold(request);
    try {
      return await complete(request, asker, deps);
    } finally {
      release();
    }
  };
}

function requestOf(asked: CompletionRequest, { model, maxTokens }: CompletionDeps): InferenceRequest {
  const { system, prompt } = asked;
  return {
    model,
    system,
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
    tools: [],
    maxTokens: Math.max(1, Math.min(asked.maxTokens ?? maxTokens, maxTokens)),
  };
}

async function complete(request: InferenceRequest, asker: CompletionAsker, deps: CompletionDeps): Promise<string> {
  const startMs = deps.clock.now();
  const startedMs = deps.clock.monotonicMs();
  const outcome = await infer(request, asker, deps);
  // Nobody hears of it any more, and the session may have written its last line.
  if (asker.signal.aborted) throw new Error('the completion was canceled');
  const usage = outcome.kind === 'response' ? deps.spend.record(request, outcome.response) : null;
  deps.record({
    event_type: 'inference',
    task_id: asker.taskId,
    turn: 0,
    hook_name: asker.hookName,
    model: request.model,
    outcome: outcome.kind,
    stop_reason: outcome.kind === 'response' ? outcome.response.stopReason : null,
    ...(outcome.kind === 'response' ? {} : { error: outcome.error }),
    usage: usage === null ? null : { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
    start_ms: startMs,
    duration_ms: elapsedMs(deps.clock, startedMs),
  });
  if (outcome.kind === 'failed' && outcome.trapped === true) throw new DriverTrap(outcome.error);
  if (outcome.kind !== 'response') throw new Error(outcome.error);
  const verdict = judgeResponse(outcome.response);
  if (verdict.kind === 'complete') return verdict.reply;
  throw new Error(verdict.kind === 'failed' ? verdict.error : 'the model called a tool, and a completion has none');
}

async function infer(
  request: InferenceRequest,
  { hookName, signal: canceled, taskId }: CompletionAsker,
  { driver, limitMs, timer }: CompletionDeps,
): Promise<DriverOutcome> {
  const late = new AbortController();
  const place = `${taskId ?? 'session'}/completion/${hookName}`;
  const cancelTimer = timer(place, limitMs, () => late.abort());
  const task = driver.openTask();
  try {
    const outcome = await underSignals([canceled, late.signal], (signal) =>
      task.infer(request, {
        place,
        signal,
        onText: () => {},
        onThinking: () => {},
        callTool: () => Promise.resolve({ content: 'a completion of a hook has no tools', isError: true }),
      }),
    );
    if (!late.signal.aborted) return outcome;
    return { kind: 'failed', error: `the model did not answer within ${limitMs / 1000} s` };
  } finally {
    cancelTimer();
    await task.close();
  }
}
