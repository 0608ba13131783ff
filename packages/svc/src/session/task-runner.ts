import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Message } from '../inference/driver.ts';
import { fenceUntrusted } from '../tools/untrusted-fence.ts';
import type { TraceEventId } from '@svc/protocol/ids.ts';
import type { AgentLoopDeps } from './agent-loop.ts';
import { AttemptRun, type AttemptStart, type EndedAttempt } from './attempt-run.ts';
import type { Conversations } from './conversations.ts';
import type { SessionEventIds } from './event-ids.ts';
import type { EventStream } from './event-stream.ts';
import type { Task } from './task.ts';

export interface TaskRunnerDeps extends Omit<AgentLoopDeps, 'requestInput' | 'hooked' | 'turnsUsed'> {
  readonly stream: EventStream;
  readonly ids: SessionEventIds;
  readonly sessionStart: TraceEventId;
  readonly conversations: Conversations;
  /** `lifecycle.max_task_reopens`. */
  readonly maxReopens: number;
  /** Null waits for as long as it takes. */
  readonly inputTimeoutMs: number | null;
  /** Puts `out/result.txt` into the workdir, whole or not at all. */
  readonly writeResult: (text: string) => void;
}

/**
 * Runs one task from its first turn to its last frame, and again as often as its hooks reopen it; tells whether a component trapped
 * outside a tool call on the way. Rejects with the Diagnostic that ends the session when the trace or the workdir fails; the task is
 * `failed` then and no final frame is written (D1 "Task states" 2).
 */
export async function runTask(task: Task, deps: TaskRunnerDeps): Promise<{ readonly trapped: boolean }> {
  try {
    return await runAttempts(task, deps);
  } catch (error) {
    if (error instanceof Diagnostic && !task.isTerminal) task.apply({ type: 'broke', reason: error.message });
    throw error;
  }
}

async function runAttempts(task: Task, deps: TaskRunnerDeps): Promise<{ readonly trapped: boolean }> {
  const thread = new Thread(task, deps.conversations);
  let next: AttemptStart | null = { number: 1, text: textOf(task), history: () => thread.history(), turnsUsed: 0 };
  let trapped = false;
  while (next !== null) {
    const run: AttemptRun = new AttemptRun(task, next, deps);
    const ended = await run.toTheEnd();
    trapped ||= ended.trapped;
    next = await reopened({ task, thread, run, start: next, ended }, deps);
  }
  return { trapped };
}

/** The conversation that the task continues. */
class Thread {
  readonly #task: Task;
  readonly #conversations: Conversations;
  #before: readonly Message[] | null = null;

  constructor(task: Task, conversations: Conversations) {
    this.#task = task;
    this.#conversations = conversations;
  }

  history(): readonly Message[] {
    this.#before ??= this.#conversations.history(this.#task.contextId);
    return this.#before;
  }

  /** Takes back what the task added: it counts once the task has ended for good. */
  withdraw(): void {
    this.#conversations.save(this.#task.contextId, this.history());
  }
}

interface Judged {
  readonly task: Task;
  readonly thread: Thread;
  readonly run: AttemptRun;
  readonly start: AttemptStart;
  readonly ended: EndedAttempt;
}

/** Tells the hooks of an attempt's end. Gives what the next one begins with when they reopen the task (D1 "Task states"). */
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
  task.apply({ type: 'reopened' });
  deps.trace.write({ event_type: 'task_reopened', task_id: task.id, attempt: number, feedback }, deps.sessionStart);
  return { number, text: feedback, history: () => ended.messages, turnsUsed: ended.turnsUsed };
}

function refusalToReopen({ task, start, ended }: Judged, { inference, maxReopens }: TaskRunnerDeps): string | null {
  if (ended.end.state !== 'completed') return `a task that is ${ended.end.state} is not reopened`;
  if (task.signal.aborted) return 'the task was canceled';
  if (start.number > maxReopens) return `lifecycle.max_task_reopens is ${maxReopens}`;
  if (ended.turnsUsed >= inference.maxTurns) return `all ${inference.maxTurns} inference turns are used`;
  return null;
}

/** What the user says first. What an untrusted peer or child wrote reaches the model fenced (contracts §5). */
function textOf(task: Task): string {
  const fenced = task.trust === 'untrusted' && (task.origin === 'peer' || task.origin === 'completion');
  return fenced ? fenceUntrusted(`task:${task.origin}`, task.text) : task.text;
}
