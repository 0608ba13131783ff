import type {
  Driver,
  DriverOutcome,
  InferenceRequest,
  InferenceResponse,
  Message,
  ToolAnswer,
} from '../inference/driver.ts';
import { judgeResponse, type ToolCallBlock } from '../inference/response-check.ts';
import { diagnosticOf } from '../diagnostics/diagnostic.ts';
import type { DispatchedCall } from '../tools/dispatch.ts';
import type { Inventory } from '../tools/inventory.ts';
import type { Trace } from '../trace/trace.ts';
import type { TraceEventId } from '../wire/ids.ts';
import type { Attempt } from './attempt.ts';
import { callTrace } from './call-trace.ts';
import type { SessionClock } from './clock.ts';
import type { SpendMeter, SpendRefusal } from './spend-meter.ts';
import type { TaskHooks } from './task-hooks.ts';
import type { InputAnswer } from '../tools/tool.ts';

export interface InferenceSettings {
  readonly model: string;
  readonly system: string;
  readonly maxTurns: number;
  readonly maxTokens: number;
}

export interface AgentLoopDeps {
  readonly driver: Driver;
  readonly inventory: Inventory;
  readonly inference: InferenceSettings;
  readonly spend: SpendMeter;
  readonly trace: Trace;
  readonly clock: SessionClock;
  /** Throws the Diagnostic that ends the session when the workdir has outgrown its limit. */
  readonly checkWorkdirSize: () => Promise<void>;
  readonly requestInput: (prompt: string) => Promise<InputAnswer>;
  readonly hooks: TaskHooks;
}

/** How an attempt ended, before anything final is written. A cancel arrives as a rejection with `TaskCanceled`. */
export type AttemptEnd =
  | { readonly kind: 'completed'; readonly reply: string; readonly replyWasStreamed: boolean }
  /** `trapped`: the driver's component broke off, which the session's own status tells of. */
  | { readonly kind: 'driver-failed'; readonly error: string; readonly trapped: boolean }
  | { readonly kind: 'driver-unavailable'; readonly error: string }
  | { readonly kind: 'driver-malformed'; readonly error: string }
  | { readonly kind: 'turns-exhausted' }
  | { readonly kind: 'spend-refused'; readonly refusal: SpendRefusal };

export interface AttemptResult {
  readonly end: AttemptEnd;
  /** The conversation with everything the attempt added. */
  readonly messages: readonly Message[];
}

/** Inference turns and tool calls until the model stops, an end is forced, or the turns are used up (D1 "Task states"). */
export async function runAttempt(
  attempt: Attempt,
  history: readonly Message[],
  context: AgentLoopDeps & { readonly taskStart: TraceEventId },
): Promise<AttemptResult> {
  const loop = new AgentLoop(attempt, history, context);
  const driverTask = context.driver.openTask();
  try {
    const end = await loop.run((request, call) => driverTask.infer(request, call));
    return { end, messages: loop.messages };
  } finally {
    await driverTask.close();
  }
}

type Infer = ReturnType<Driver['openTask']>['infer'];

type TurnEnd = { readonly kind: 'next' } | AttemptEnd;

class AgentLoop {
  readonly messages: Message[];
  readonly #attempt: Attempt;
  readonly #deps: AgentLoopDeps & { readonly taskStart: TraceEventId };
  #continuationId: string | undefined;

  constructor(
    attempt: Attempt,
    history: readonly Message[],
    deps: AgentLoopDeps & { readonly taskStart: TraceEventId },
  ) {
    this.messages = [...history];
    this.#attempt = attempt;
    this.#deps = deps;
  }

  async run(infer: Infer): Promise<AttemptEnd> {
    const { maxTurns } = this.#deps.inference;
    for (let turn = 1; turn <= maxTurns; turn += 1) {
      const end = await this.#turn(turn, infer);
      if (end.kind !== 'next') return end;
    }
    return { kind: 'turns-exhausted' };
  }

  async #turn(turn: number, infer: Infer): Promise<TurnEnd> {
    this.#attempt.throwIfCanceled();
    this.#attempt.announce({ type: 'turn-started', turn });
    this.#attempt.turns = turn;
    const request = this.#request();
    const refusal = this.#deps.spend.check(request);
    if (refusal !== null) return { kind: 'spend-refused', refusal };
    const { outcome, streamedText } = await this.#infer(turn, request, infer);
    if (outcome.kind === 'failed') {
      return { kind: 'driver-failed', error: outcome.error, trapped: outcome.trapped ?? false };
    }
    if (outcome.kind === 'unavailable') return { kind: 'driver-unavailable', error: outcome.error };
    if (outcome.kind === 'malformed') return { kind: 'driver-malformed', error: outcome.error };
    return await this.#act(turn, outcome.response, streamedText);
  }

  #request(): InferenceRequest {
    const { model, system, maxTokens } = this.#deps.inference;
    return {
      model,
      system,
      messages: [...this.messages],
      tools: this.#deps.inventory.definitions,
      maxTokens,
      ...(this.#continuationId === undefined ? {} : { continuationId: this.#continuationId }),
    };
  }

  async #infer(
    turn: number,
    request: InferenceRequest,
    infer: Infer,
  ): Promise<{ outcome: DriverOutcome; streamedText: boolean }> {
    const { clock, inventory, spend, trace, taskStart } = this.#deps;
    const attempt = this.#attempt;
    const startedMs = clock.monotonicMs();
    const result = await attempt.inference(() => {
      const answer = infer(request, {
        signal: attempt.task.signal,
        onText: (text) => attempt.text(text),
        onThinking: (text) => attempt.thinking(text),
        callTool: (block) => this.#dispatch(turn, block),
      });
      inventory.warm();
      return answer;
    });
    const { outcome } = result;
    const usage = outcome.kind === 'response' ? spend.record(request, outcome.response) : null;
    if (usage !== null) attempt.addUsage(usage);
    trace.write(
      {
        event_type: 'inference',
        task_id: attempt.task.id,
        turn,
        model: request.model,
        outcome: outcome.kind,
        stop_reason: outcome.kind === 'response' ? outcome.response.stopReason : null,
        ...(outcome.kind === 'response' ? {} : { error: outcome.error }),
        usage: usage === null ? null : { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
        duration_ms: elapsedMs(clock, startedMs),
      },
      taskStart,
    );
    return result;
  }

  async #act(turn: number, response: InferenceResponse, replyWasStreamed: boolean): Promise<TurnEnd> {
    const verdict = judgeResponse(response);
    this.#continuationId = response.continuationId;
    if (verdict.kind === 'failed') return { kind: 'driver-failed', error: verdict.error, trapped: false };
    this.messages.push({ role: 'assistant', content: response.content });
    if (verdict.kind === 'complete') return { kind: 'completed', reply: verdict.reply, replyWasStreamed };
    for (const block of verdict.calls) {
      const { content, isError } = await this.#dispatch(turn, block);
      this.messages.push({ role: 'tool', toolCallId: block.id, isError, content: [{ type: 'text', text: content }] });
    }
    await this.#deps.checkWorkdirSize();
    return { kind: 'next' };
  }

  async #dispatch(turn: number, block: ToolCallBlock): Promise<ToolAnswer> {
    const { hooks, inventory, trace, taskStart, requestInput } = this.#deps;
    const { task } = this.#attempt;
    this.#attempt.throwIfCanceled();
    let lost: unknown = null;
    const dispatched = await inventory.dispatch(block, {
      taskId: task.id,
      signal: task.signal,
      judge: (call) => hooks.judgeCall({ ...call, taskId: task.id, turn }),
      emitText: (text) => this.#attempt.text(text),
      emitThinking: (text) => this.#attempt.thinking(text),
      record: (event) => {
        lost ??= diagnosticOf(() => trace.write(event, taskStart));
      },
      requestInput: async (prompt) => {
        try {
          return await requestInput(prompt);
        } catch (error) {
          lost ??= error;
          throw error;
        }
      },
    });
    this.#attempt.throwIfCanceled();
    // A tool takes any failure of what it asks for an answer: one of the runtime's own must not end there.
    if (lost !== null) throw lost;
    trace.write(callTrace({ taskId: task.id, turn, input: block.input, call: dispatched }), taskStart);
    this.#show(dispatched);
    return { content: dispatched.content, isError: dispatched.isError };
  }

  /** One frame for each call that was dispatched; a denied one was not (D1 "Frame types", `artifact`). */
  #show(dispatched: DispatchedCall): void {
    if (dispatched.denied) return;
    this.#attempt.artifact({
      toolName: dispatched.toolName,
      content: dispatched.content,
      fenceSource: dispatched.fenceSource,
      toolCallId: dispatched.callId,
      isError: dispatched.isError,
      durationMs: dispatched.durationMs,
      exitCode: dispatched.exitCode,
      truncated: dispatched.truncated,
    });
  }
}

export function elapsedMs(clock: SessionClock, startedMs: number): number {
  return Math.max(0, Math.round(clock.monotonicMs() - startedMs));
}
