import { toUSVString } from 'node:util';

import { elapsedMs } from '@svc/kit/clock.ts';
import { diagnosticOf, type Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HookedTask, TaskEnd } from '../hooks/session-hooks.ts';
import type { Message } from '../inference/driver.ts';
import { refusalSentence, type SpendRefusal } from '../inference/spend-refusal.ts';
import type { InputAnswer } from '../tools/tool.ts';
import type { TraceEventId } from '@svc/protocol/ids.ts';
import { runAttempt, type AttemptEnd, type AttemptResult } from './agent-loop.ts';
import { Attempt } from './attempt.ts';
import { waitForInput } from './input-wait.ts';
import type { TaskRunnerDeps } from './task-runner.ts';
import { TaskCanceled, type Task } from './task.ts';
import { step, type TaskEvent, type TaskState } from './task-state.ts';

/** What an attempt begins with. */
export interface AttemptStart {
  /** 1 for the first, one more after each reopening. */
  readonly number: number;
  /** What the attempt adds to the conversation first. */
  readonly text: string;
  /** The conversation so far. Throws the Diagnostic of one that is kept and cannot be read. */
  readonly history: () => readonly Message[];
  /** Inference turns that earlier attempts of the task used. */
  readonly turnsUsed: number;
}

/** An attempt after its last frame. */
export interface EndedAttempt {
  readonly end: TaskEnd;
  /** The conversation with everything the attempt added; as it was when the attempt failed or was canceled. */
  readonly messages: readonly Message[];
  /** With those of earlier attempts. */
  readonly turnsUsed: number;
  /** The driver's component broke off, which the session's own status tells of. */
  readonly trapped: boolean;
}

/** One attempt at a task from its first turn to its last frame. Rejects with the Diagnostic that ends the session. */
export class AttemptRun {
  readonly #task: Task;
  readonly #deps: TaskRunnerDeps;
  readonly #start: AttemptStart;
  readonly #attempt: Attempt;
  readonly #startedMs: number;
  readonly #taskStart: TraceEventId;

  constructor(task: Task, start: AttemptStart, deps: TaskRunnerDeps) {
    this.#task = task;
    this.#deps = deps;
    this.#start = start;
    this.#attempt = new Attempt(task, deps.stream, deps.ids);
    this.#startedMs = deps.clock.monotonicMs();
    const event = { event_type: 'task_start', task_id: task.id, attempt: start.number } as const;
    this.#taskStart = deps.trace.write(event, deps.sessionStart);
  }

  /** The task as hooks are told of it. */
  get hooked(): HookedTask {
    const { id, contextId, origin, trust, signal } = this.#task;
    return { id, contextId, origin, trusted: trust === 'trusted', attempt: this.#start.number, signal };
  }

  async toTheEnd(): Promise<EndedAttempt> {
    try {
      const { end, messages } = await this.#run();
      const text = await this.#conclude(end, messages);
      const { state } = this.#task;
      const trapped = end.kind === 'driver-failed' && end.trapped;
      return { end: { state: endState(state), text }, messages, turnsUsed: this.#turnsUsed(), trapped };
    } catch (error) {
      if (!(error instanceof TaskCanceled)) throw error;
      this.#deps.trace.write({ event_type: 'task_canceled', task_id: this.#task.id, queued: false }, this.#taskStart);
      this.#end({ type: 'canceled' });
      const end = { state: 'canceled', text: null } as const;
      return { end, messages: [], turnsUsed: this.#turnsUsed(), trapped: false };
    }
  }

  async #run(): Promise<AttemptResult> {
    const { hooks, conversations: _, ...deps } = this.#deps;
    let history: readonly Message[] = [];
    const unreadable = diagnosticOf(() => {
      history = this.#start.history();
    });
    if (unreadable !== null) return { end: { kind: 'unprepared', error: told(unreadable) }, messages: [] };
    await hooks.taskStarted(this.hooked, this.#start.text);
    this.#attempt.throwIfCanceled();
    const asked = { role: 'user', content: [{ type: 'text', text: this.#start.text }] } as const;
    const result = await runAttempt(this.#attempt, [...history, asked], {
      ...deps,
      hooks,
      hooked: this.hooked,
      turnsUsed: this.#start.turnsUsed,
      taskStart: this.#taskStart,
      requestInput: (prompt) => this.#requestInput(prompt),
    });
    this.#attempt.throwIfCanceled();
    return result;
  }

  #turnsUsed(): number {
    return this.#start.turnsUsed + this.#attempt.turns;
  }

  /** Writes the last frames. Gives the reply, or what went wrong. */
  async #conclude(end: AttemptEnd, messages: readonly Message[]): Promise<string> {
    switch (end.kind) {
      case 'completed':
        return await this.#complete(end, messages);
      case 'unprepared':
        this.#begin();
        return this.#failDriver(end.error);
      case 'driver-failed':
      case 'compaction-failed':
        return this.#failDriver(end.error);
      case 'driver-unavailable':
        this.#writeResult(`error: driver invocation failed: ${end.error}`);
        this.#end({ type: 'driver-unavailable', error: end.error });
        return end.error;
      case 'turns-exhausted':
        return this.#fail({ type: 'turns-exhausted', maxTurns: this.#deps.inference.maxTurns });
      case 'spend-refused':
        return this.#refuseSpend(end.refusal);
      case 'driver-malformed':
        this.#writeResult(`error: ${end.error}`);
        this.#end({ type: 'broke', reason: end.error }, end.error);
        return end.error;
    }
  }

  /** A task that fails before its first turn has worked for a moment: the table knows no other way. */
  #begin(): void {
    this.#attempt.announce({ type: 'turn-started', turn: 1 });
  }

  /** A result that cannot be put where it belongs is the task's failure, not the session's end: the agent itself may stand in its way. */
  async #complete(end: Extract<AttemptEnd, { kind: 'completed' }>, messages: readonly Message[]): Promise<string> {
    const refused = this.#writeResult(end.reply) ?? this.#save(messages);
    if (refused !== null) return this.#failDriver(told(refused));
    if (end.reply !== '' && !end.replyWasStreamed) await this.#attempt.wholeReply(end.reply);
    this.#attempt.throwIfCanceled();
    for (const artifact of this.#deps.hooks.takeArtifacts(this.#task.id)) this.#attempt.hookArtifact(artifact);
    this.#end({ type: 'session-ended' });
    return end.reply;
  }

  #save(messages: readonly Message[]): Diagnostic | null {
    return diagnosticOf(() => this.#deps.conversations.save(this.#task.contextId, messages));
  }

  #failDriver(error: string): string {
    this.#writeResult(`error: ${error}`);
    this.#end({ type: 'driver-failed' }, error);
    return error;
  }

  #refuseSpend(refusal: SpendRefusal): string {
    const { ceiling, spent, estimate } = refusal;
    const { trace } = this.#deps;
    const task = { task_id: this.#task.id };
    trace.write({ event_type: 'spend_ceiling_reached', ...task, ceiling, spent, estimate }, this.#taskStart);
    return this.#fail({ type: 'spend-refused', refusal: refusalSentence(refusal, 'the next call') });
  }

  /** A failure whose status message is also what the result file says. */
  #fail(event: TaskEvent): string {
    const { announcement } = step(this.#task.state, event);
    const message = announcement?.message ?? '';
    this.#writeResult(`error: ${message}`);
    this.#end(event);
    return message;
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

/** With the code, by which an operator finds what to do about it. */
function told({ code, message }: Diagnostic): string {
  return `${code}: ${message}`;
}

function endState(state: TaskState): TaskEnd['state'] {
  if (state === 'completed' || state === 'failed' || state === 'canceled') return state;
  throw new Error(`a task that is ${state} has not ended`);
}
