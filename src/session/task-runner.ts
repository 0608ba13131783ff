import { toUSVString } from 'node:util';

import { Diagnostic, diagnosticOf } from '../diagnostics/diagnostic.ts';
import type { Message } from '../inference/driver.ts';
import type { InputAnswer } from '../tools/tool.ts';
import { fenceUntrusted } from '../tools/untrusted-fence.ts';
import type { TraceEventId } from '../wire/ids.ts';
import { elapsedMs, runAttempt, type AgentLoopDeps, type AttemptEnd, type AttemptResult } from './agent-loop.ts';
import { Attempt } from './attempt.ts';
import type { Conversations } from './conversations.ts';
import type { SessionEventIds } from './event-ids.ts';
import type { EventStream } from './event-stream.ts';
import { waitForInput } from './input-wait.ts';
import { TaskCanceled, type Task } from './task.ts';
import type { SpendRefusal } from './spend-meter.ts';
import { step, type TaskEvent, type TaskState } from './task-state.ts';

export interface TaskRunnerDeps extends Omit<AgentLoopDeps, 'requestInput'> {
  readonly stream: EventStream;
  readonly ids: SessionEventIds;
  readonly sessionStart: TraceEventId;
  readonly conversations: Conversations;
  /** Null waits for as long as it takes. */
  readonly inputTimeoutMs: number | null;
  /** Puts `out/result.txt` into the workdir, whole or not at all. */
  readonly writeResult: (text: string) => void;
}

/**
 * Runs one task from its first turn to its last frame; tells whether a component trapped outside a tool call on the way. Rejects with
 * the Diagnostic that ends the session when the trace or the workdir fails; the task is `failed` then and no final frame is written
 * (D1 "Task states" 2).
 */
export async function runTask(task: Task, deps: TaskRunnerDeps): Promise<{ readonly trapped: boolean }> {
  try {
    return await new TaskRun(task, deps).toTheEnd();
  } catch (error) {
    if (error instanceof Diagnostic && !task.isTerminal) task.apply({ type: 'broke', reason: error.message });
    throw error;
  }
}

class TaskRun {
  readonly #task: Task;
  readonly #deps: TaskRunnerDeps;
  readonly #attempt: Attempt;
  readonly #startedMs: number;
  readonly #taskStart: TraceEventId;

  constructor(task: Task, deps: TaskRunnerDeps) {
    this.#task = task;
    this.#deps = deps;
    this.#attempt = new Attempt(task, deps.stream, deps.ids);
    this.#startedMs = deps.clock.monotonicMs();
    const start = { event_type: 'task_start', task_id: task.id, attempt: 1 } as const;
    this.#taskStart = deps.trace.write(start, deps.sessionStart);
  }

  async toTheEnd(): Promise<{ readonly trapped: boolean }> {
    try {
      const { end, messages } = await this.#runAttempt();
      await this.#conclude(end, messages);
      return { trapped: end.kind === 'driver-failed' && end.trapped };
    } catch (error) {
      if (!(error instanceof TaskCanceled)) throw error;
      this.#deps.trace.write({ event_type: 'task_canceled', task_id: this.#task.id, queued: false }, this.#taskStart);
      this.#end({ type: 'canceled' });
      return { trapped: false };
    }
  }

  async #runAttempt(): Promise<AttemptResult> {
    const { conversations } = this.#deps;
    const history = [...conversations.history(this.#task.contextId), userMessage(this.#task)];
    const result = await runAttempt(this.#attempt, history, {
      ...this.#deps,
      taskStart: this.#taskStart,
      requestInput: (prompt) => this.#requestInput(prompt),
    });
    this.#attempt.throwIfCanceled();
    return result;
  }

  async #conclude(end: AttemptEnd, messages: readonly Message[]): Promise<void> {
    switch (end.kind) {
      case 'completed':
        return await this.#complete(end, messages);
      case 'driver-failed':
        this.#writeResult(`error: ${end.error}`);
        return this.#end({ type: 'driver-failed' }, end.error);
      case 'driver-unavailable':
        this.#writeResult(`error: driver invocation failed: ${end.error}`);
        return this.#end({ type: 'driver-unavailable', error: end.error });
      case 'turns-exhausted':
        return this.#fail({ type: 'turns-exhausted', maxTurns: this.#deps.inference.maxTurns });
      case 'spend-refused':
        return this.#refuseSpend(end.refusal);
      case 'driver-malformed':
        this.#writeResult(`error: ${end.error}`);
        return this.#end({ type: 'broke', reason: end.error }, end.error);
    }
  }

  /** A result that cannot be put where it belongs is the task's failure, not the session's end: the agent itself may stand in its way. */
  async #complete(end: Extract<AttemptEnd, { kind: 'completed' }>, messages: readonly Message[]): Promise<void> {
    const refused = this.#writeResult(end.reply);
    if (refused !== null) return this.#end({ type: 'driver-failed' }, refused.message);
    if (end.reply !== '' && !end.replyWasStreamed) await this.#attempt.wholeReply(end.reply);
    this.#attempt.throwIfCanceled();
    for (const artifact of this.#deps.hooks.takeArtifacts(this.#task.id)) this.#attempt.hookArtifact(artifact);
    this.#deps.conversations.save(this.#task.contextId, messages);
    this.#end({ type: 'session-ended' });
  }

  #refuseSpend({ ceiling, spent, estimate }: SpendRefusal): void {
    const { trace } = this.#deps;
    const task = { task_id: this.#task.id };
    trace.write({ event_type: 'spend_ceiling_reached', ...task, ceiling, spent, estimate }, this.#taskStart);
    const refusal = `spend ceiling reached: ${spent} of ${ceiling} session tokens used, the next call may need ${estimate}`;
    this.#fail({ type: 'spend-refused', refusal });
  }

  /** A failure whose status message is also what the result file says. */
  #fail(event: TaskEvent): void {
    const { announcement } = step(this.#task.state, event);
    this.#writeResult(`error: ${announcement?.message ?? ''}`);
    this.#end(event);
  }

  /** A file holds no half of a character, so the frame that repeats it does not either. */
  #writeResult(result: string): Diagnostic | null {
    const text = toUSVString(result);
    const refused = diagnosticOf(() => this.#deps.writeResult(text));
    if (refused === null) this.#task.result = text;
    return refused;
  }

  /** The trace line comes first: a client that saw the final frame finds the task's end recorded. */
  #end(event: TaskEvent, error?: string): void {
    const { clock, trace } = this.#deps;
    const { announcement, state } = step(this.#task.state, event);
    const { turns, usage } = this.#attempt;
    trace.write(
      {
        event_type: 'task_end',
        task_id: this.#task.id,
        state: endState(state),
        message: announcement?.message ?? error ?? '',
        ...(error === undefined ? {} : { error }),
        turns,
        usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
        duration_ms: elapsedMs(clock, this.#startedMs),
      },
      this.#taskStart,
    );
    this.#attempt.announce(event);
  }

  async #requestInput(prompt: string): Promise<InputAnswer> {
    const { clock, ids, inputTimeoutMs, stream, trace } = this.#deps;
    const startedMs = clock.monotonicMs();
    let outcome: 'answered' | 'timed-out' | 'canceled' = 'canceled';
    try {
      const answer = await waitForInput(this.#task, prompt, { stream, ids, clock, timeoutMs: inputTimeoutMs });
      outcome = answer.kind;
      return answer;
    } finally {
      const durationMs = elapsedMs(clock, startedMs);
      const event = { event_type: 'task_input_required', task_id: this.#task.id, prompt, outcome } as const;
      trace.write({ ...event, duration_ms: durationMs }, this.#taskStart);
    }
  }
}

/** The first user message. What an untrusted peer or child wrote reaches the model fenced (contracts §5). */
function userMessage(task: Task): Message {
  const fenced = task.trust === 'untrusted' && (task.origin === 'peer' || task.origin === 'completion');
  const text = fenced ? fenceUntrusted(`task:${task.origin}`, task.text) : task.text;
  return { role: 'user', content: [{ type: 'text', text }] };
}

function endState(state: TaskState): 'completed' | 'failed' | 'canceled' {
  if (state === 'completed' || state === 'failed' || state === 'canceled') return state;
  throw new Error(`a task that is ${state} has not ended`);
}
