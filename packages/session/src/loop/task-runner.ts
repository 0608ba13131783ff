/** Runs one task from its first turn to its final frame. */

import { toUSVString } from 'node:util';

import { elapsedMs } from '@svc/kit/clock.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HookedTask, TaskEnd } from '../hooks/session-hooks.ts';
import { codedFailure, type Message } from '../model/driver.ts';
import { fenceUntrusted } from '../tools/untrusted-fence.ts';
import { runAttempt, type AgentLoopDeps, type AttemptEnd, type AttemptResult } from './agent-loop.ts';
import { Attempt } from './attempt.ts';
import type { Conversations } from './conversations.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { AskApproval } from '../approvals/waiting-approvals.ts';
import type { CheckedCall, FileOperation } from '../tools/tool.ts';
import { waitForApproval, waitForInput } from './input-wait.ts';
import {
  type FailedTask,
  TaskCanceled,
  type Task,
  step,
  type TaskEvent,
  type TaskFailure,
  type TaskState,
} from '../task/task.ts';

export interface TaskRunnerDeps extends Omit<
  AgentLoopDeps,
  'requestInput' | 'approve' | 'approveChange' | 'requestsOf' | 'programsOf' | 'widening' | 'hooked' | 'turnsUsed'
> {
  /** Is null for a session whose manifest has no `approvals`. */
  readonly approvals: Approvals | null;
  /** It is null where every task starts from nothing (`lifecycle.conversation: stateless`). */
  readonly conversations: Conversations | null;
  /** `lifecycle.max_task_reopens`. */
  readonly maxReopens: number;
  /** `lifecycle.input_timeout_secs`; with null it depends on where the task came from. */
  readonly inputTimeoutMs: number | null;
  /** Puts `out/result.txt` into the workdir, whole or not at all. */
  readonly writeResult: (text: string) => void;
  /** Called before the last frame of a task that failed. */
  readonly onFailed: (failed: FailedTask) => void;
}

/** For an answer through a door without `lifecycle.input_timeout_secs`: nobody may be there, and other tasks wait behind this one. */
const doorWaitMs = 30 * 60_000;

/** A person at a terminal or an editor may take as long as they like. */
function defaultWaitMs({ origin }: Task): number | null {
  return origin === 'user' ? null : doorWaitMs;
}

/** What an attempt begins with. */
interface AttemptStart {
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
interface EndedAttempt {
  readonly end: TaskEnd;
  /** The conversation with everything the attempt added; as it was when the attempt failed or was canceled. */
  readonly messages: readonly Message[];
  /** With those of earlier attempts. */
  readonly turnsUsed: number;
  /** The driver's component broke off; the session's own status reports it. */
  readonly trapped: boolean;
}

/**
 * Runs one task from its first turn to its last frame, and again as often as its hooks reopen it; says whether a component trapped
 * outside a tool call on the way. Rejects with the Diagnostic that ends the session when the trace or the workdir fails; the task is
 * `failed` then and no final frame is written (D1 "Task states" 2).
 */
export async function runTask(task: Task, deps: TaskRunnerDeps): Promise<{ readonly trapped: boolean }> {
  deps.inventory.startComponents();
  try {
    return await runAttempts(task, deps);
  } catch (error) {
    if (error instanceof Diagnostic && !task.isTerminal) task.apply({ kind: 'broke', error: error.message });
    throw error;
  } finally {
    deps.inventory.taskEnded(task.id);
  }
}

async function runAttempts(task: Task, deps: TaskRunnerDeps): Promise<{ readonly trapped: boolean }> {
  const thread = new Thread(task, deps);
  let next: AttemptStart | null = { number: 1, text: textOf(task), history: () => thread.history(), turnsUsed: 0 };
  let trapped = false;
  while (next !== null) {
    const run: AttemptRun = new AttemptRun(task, { ...next, thread }, deps);
    const ended = await run.toTheEnd();
    trapped ||= ended.trapped;
    next = await reopened({ task, thread, run, start: next, ended }, deps);
  }
  return { trapped };
}

/** What the user says first. What an untrusted peer or child wrote reaches the model fenced (docs/protocol.md "Frames"). */
function textOf(task: Task): string {
  const fenced = task.trust === 'untrusted' && (task.origin === 'peer' || task.origin === 'completion');
  return fenced ? fenceUntrusted(`task:${task.origin}`, task.text) : task.text;
}

/** The conversation that the task continues. */
class Thread {
  readonly #task: Task;
  readonly #deps: Pick<TaskRunnerDeps, 'conversations' | 'recorder'>;
  #before: readonly Message[] | null = null;

  constructor(task: Task, deps: Pick<TaskRunnerDeps, 'conversations' | 'recorder'>) {
    this.#task = task;
    this.#deps = deps;
  }

  history(): readonly Message[] {
    this.#before ??= this.#read();
    return this.#before;
  }

  #read(): readonly Message[] {
    const { conversations, recorder } = this.#deps;
    const { id, conversation } = this.#task;
    if (conversations === null) return [];
    const isOwn = conversations.isKept !== true && conversations.isOfOther?.(conversation) !== true;
    if (isOwn) return conversations.history(conversation);
    const kept = recorder.find(`${id}/history`, () => {
      const messages = conversations.history(conversation);
      return messages.length === 0 ? null : messages;
    });
    return kept ?? [];
  }

  /** Throws the Diagnostic of a conversation that cannot be kept. */
  save(messages: readonly Message[]): void {
    const { conversations, recorder } = this.#deps;
    const { id, conversation } = this.#task;
    if (conversations?.isKept !== true) return conversations?.save(conversation, messages);
    recorder.find(`${id}/save`, () => (conversations.save(conversation, messages), null));
  }

  /** Takes back what the task added: it counts once the task has ended for good. */
  withdraw(): void {
    this.save(this.history());
  }
}

interface Judged {
  readonly task: Task;
  readonly thread: Thread;
  readonly run: AttemptRun;
  readonly start: AttemptStart;
  readonly ended: EndedAttempt;
}

/** Reports the end of an attempt to the hooks. Gives what the next one begins with when they reopen the task (D1 "Task states"). */
async function reopened(judged: Judged, deps: TaskRunnerDeps): Promise<AttemptStart | null> {
  const { task, thread, run, start, ended } = judged;
  task.mayReopen = deps.hooks.mayReopen && refusalToReopen(judged, deps) === null;
  const verdict = await deps.hooks.taskEnded(run.hooked, ended.end);
  task.mayReopen = false;
  if (verdict.kind === 'accepted') return null;
  const { feedback } = verdict;
  const refusal = refusalToReopen(judged, deps) ?? diagnosticOf(() => thread.withdraw())?.message ?? null;
  if (refusal !== null) {
    deps.hooks.refused('on-task-end', refusal);
    return null;
  }
  const number = start.number + 1;
  task.apply({ kind: 'reopened' });
  deps.activity.emit({ kind: 'task-reopened', task, attempt: number, feedback });
  return { number, text: feedback, history: () => ended.messages, turnsUsed: ended.turnsUsed };
}

function refusalToReopen({ task, start, ended }: Judged, { inference, maxReopens }: TaskRunnerDeps): string | null {
  if (ended.end.state !== 'completed') return `a task that is ${ended.end.state} is not reopened`;
  if (task.signal.aborted) return 'the task was canceled';
  if (task.command !== null) return 'no model works on a command that a person typed';
  if (start.number > maxReopens) return `lifecycle.max_task_reopens is ${maxReopens}`;
  if (ended.turnsUsed >= inference.maxTurns) return `all ${inference.maxTurns} inference turns are used`;
  return null;
}

/** One attempt at a task from its first turn to its last frame. */
class AttemptRun {
  readonly #task: Task;
  readonly #deps: TaskRunnerDeps;
  readonly #start: AttemptStart & { readonly thread: Thread };
  readonly #attempt: Attempt;
  readonly #startedMs: number;

  constructor(task: Task, start: AttemptStart & { readonly thread: Thread }, deps: TaskRunnerDeps) {
    this.#task = task;
    this.#deps = deps;
    this.#start = start;
    this.#attempt = new Attempt(task, start.number, deps.activity);
    this.#startedMs = deps.clock.monotonicMs();
    task.startedMs ??= this.#startedMs;
    task.attempts = start.number;
    deps.activity.emit({ kind: 'attempt-started', task, attempt: start.number });
  }

  /** The task as hooks see it. */
  get hooked(): HookedTask {
    const { id, contextId, origin, trust, signal } = this.#task;
    return { id, contextId, origin, trusted: trust === 'trusted', attempt: this.#start.number, signal };
  }

  /** Rejects with the Diagnostic that ends the session. */
  async toTheEnd(): Promise<EndedAttempt> {
    try {
      const { end, messages } = await this.#run();
      const text = end.kind === 'completed' ? await this.#complete(end, messages) : this.#fail(end);
      const { state } = this.#task;
      const trapped = end.kind === 'failed' && end.trapped === true;
      return { end: { state: endState(state), text }, messages, turnsUsed: this.#turnsUsed(), trapped };
    } catch (error) {
      if (!(error instanceof TaskCanceled)) throw error;
      this.#deps.activity.emit({ kind: 'task-canceled', task: this.#task, announcement: null });
      this.#end({ kind: 'canceled' });
      const end = { state: 'canceled', text: null } as const;
      return { end, messages: [], turnsUsed: this.#turnsUsed(), trapped: false };
    }
  }

  async #run(): Promise<AttemptResult> {
    const { hooks, approvals, conversations: _, ...deps } = this.#deps;
    const { projectText } = deps;
    let history: readonly Message[] = [];
    const unreadable = diagnosticOf(() => {
      history = this.#start.history();
    });
    if (unreadable !== null) {
      // D1 has no step from submitted to failed, so announce `working` first.
      this.#attempt.announce({ kind: 'turn-started', turn: 1 });
      return { end: codedFailure(unreadable.code, unreadable.message, unreadable.hint), messages: [] };
    }
    await hooks.taskStarted(this.hooked, this.#start.text);
    this.#attempt.throwIfCanceled();
    const asked = await this.#asked();
    if (typeof asked !== 'string') return { end: asked, messages: [] };
    const task = this.#task;
    const ask: AskApproval = (question, timeoutMs) => waitForApproval(task, question, { ...this.#deps, timeoutMs });
    const before = projectText === null || history.length > 0 ? '' : `${projectText}\n\n`;
    const loop = {
      ...deps,
      hooks,
      hooked: this.hooked,
      turnsUsed: this.#start.turnsUsed,
      requestInput: (prompt: string) =>
        waitForInput(this.#task, prompt, {
          ...this.#deps,
          timeoutMs: this.#deps.inputTimeoutMs ?? defaultWaitMs(this.#task),
        }),
      approve: approvals === null ? null : (call: CheckedCall) => approvals.judge({ task, call, ask }),
      approveChange:
        approvals === null
          ? null
          : (call: CheckedCall, change: FileOperation) => approvals.judgeChange({ task, call, change, ask }),
      requestsOf: approvals === null ? null : (call: CheckedCall) => approvals.requestsOf({ task, call, ask }),
      programsOf: approvals === null ? null : (call: CheckedCall) => approvals.programsOf({ task, call, ask }),
      widening: approvals === null || task.command !== null ? null : approvals.wideningOf({ task, ask }),
    };
    const result = await this.#carriedOut({ history, before, asked }, loop);
    this.#attempt.throwIfCanceled();
    return result;
  }

  /** What the attempt begins with, and the texts of the skills that its sender named. */
  async #asked(): Promise<string | Extract<TaskFailure, { kind: 'failed' }>> {
    const { text, number } = this.#start;
    if (this.#task.skills.length === 0 || number > 1) return text;
    const { withNamedSkills } = await import('./named-skills.ts');
    const asked = await withNamedSkills(text, this.#attempt, this.#deps);
    // D1 has no step from submitted to failed, so announce `working` first.
    if (typeof asked !== 'string') this.#attempt.announce({ kind: 'turn-started', turn: 1 });
    return asked;
  }

  async #carriedOut(
    { history, before, asked: text }: { readonly history: readonly Message[]; readonly before: string; asked: string },
    deps: AgentLoopDeps,
  ): Promise<AttemptResult> {
    if (this.#task.command !== null) {
      const { runTypedCommand } = await import('./typed-command.ts');
      return await runTypedCommand(this.#attempt, { history, before }, deps);
    }
    const asked = { role: 'user', content: [{ type: 'text', text: `${before}${text}` }] } as const;
    return await runAttempt(this.#attempt, [...history, asked], deps);
  }

  #turnsUsed(): number {
    return this.#start.turnsUsed + this.#attempt.turns;
  }

  /**
   * Writes the reply and the last frames; gives the reply, or what went wrong. A result that cannot be put where it belongs is the task's
   * failure, not the session's end: the agent itself may stand in its way.
   */
  async #complete(end: Extract<AttemptEnd, { kind: 'completed' }>, messages: readonly Message[]): Promise<string> {
    const refused = this.#writeResult(end.reply) ?? this.#save(messages);
    const task = this.#task;
    if (refused !== null) {
      task.unkeptReply = toUSVString(end.reply);
      return this.#fail(codedFailure(refused.code, refused.message, refused.hint));
    }
    const { activity, hooks } = this.#deps;
    if (end.reply !== '' && !end.replyWasStreamed) activity.emit({ kind: 'whole-reply', task, text: end.reply });
    this.#attempt.throwIfCanceled();
    for (const artifact of hooks.takeArtifacts(task.id)) activity.emit({ kind: 'hook-artifact', task, artifact });
    this.#end(end);
    return end.reply;
  }

  #save(messages: readonly Message[]): Diagnostic | null {
    if (this.#task.command === 'shown') return null;
    return diagnosticOf(() => this.#start.thread.save(messages));
  }

  /** Writes why the task failed and its last frame; gives what went wrong. */
  #fail(end: TaskFailure): string {
    if (end.kind === 'spend-refused') {
      this.#deps.activity.emit({ kind: 'spend-refused', task: this.#task, refusal: end.refusal });
    }
    // What a status frame does not say of itself stands beside it.
    const error = end.kind === 'failed' || end.kind === 'malformed' ? end.error : undefined;
    const message = step(this.#task.state, end).announcement?.message ?? '';
    this.#writeResult(`error: ${error ?? message}`);
    this.#end(end, error);
    return 'error' in end ? end.error : message;
  }

  /** A file holds no half of a character, so the frame that repeats it does not either. */
  #writeResult(result: string): Diagnostic | null {
    const text = toUSVString(result);
    const { recorder, writeResult } = this.#deps;
    const refused = diagnosticOf(() => recorder.find(`${this.#attempt.place}/result`, () => (writeResult(text), null)));
    if (refused === null) this.#task.result = text;
    return refused;
  }

  /** Write the trace line before the final frame, so that a client that saw the frame finds the line. */
  #end(event: TaskEvent, error?: string): void {
    const { activity, clock, onFailed } = this.#deps;
    const task = this.#task;
    const { announcement, ...moved } = step(task.state, event);
    const state = endState(moved.state);
    const { turns, usage } = this.#attempt;
    task.turns = this.#turnsUsed();
    const message = announcement?.message ?? error ?? '';
    const durationMs = elapsedMs(clock, this.#startedMs);
    activity.emit({ kind: 'attempt-ended', task, state, message, error, turns, usage, durationMs });
    if (state === 'failed') {
      task.failure = error ?? message;
      onFailed({ words: task.failure, ...factsOf(event) });
    }
    this.#attempt.announce(event);
  }
}

function factsOf(event: TaskEvent): Omit<FailedTask, 'words'> {
  if (event.kind !== 'failed') return { code: null, hint: null, retryable: null };
  return { code: event.code ?? null, hint: event.hint ?? null, retryable: event.retryable ?? null };
}

function endState(state: TaskState): TaskEnd['state'] {
  if (state === 'completed' || state === 'failed' || state === 'canceled') return state;
  throw new Error(`a task that is ${state} has not ended`);
}
