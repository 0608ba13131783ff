/** Runs the task with which a person is asked about the call of a child. */

import { elapsedMs } from '@svc/kit/clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { type QuestionEnd, TaskCanceled, type Task, step, type TaskEvent } from '../task/task.ts';
import { Attempt } from './attempt.ts';
import { waitForApproval } from './input-wait.ts';
import type { TaskRunnerDeps } from './task-runner.ts';

type AskingDeps = Pick<TaskRunnerDeps, 'activity' | 'approvals' | 'clock' | 'recorder'>;

/**
 * Asks a person, and puts how that ended into the passed call. No model, hook or tool hears of it, and no file and no conversation gets anything. Rejects with
 * the Diagnostic that ends the session.
 */
export async function askForChild(task: Task, deps: AskingDeps): Promise<void> {
  const { activity, clock } = deps;
  const startedMs = clock.monotonicMs();
  task.startedMs = startedMs;
  task.attempts = 1;
  const attempt = new Attempt(task, 1, activity);
  activity.emit({ kind: 'attempt-started', task, attempt: 1 });
  try {
    const event = await asked(attempt, deps);
    const { announcement, state } = step(task.state, event);
    if (state !== 'completed' && state !== 'canceled')
      throw new Error('a question about a call of a child fails no task');
    const message = announcement?.message ?? '';
    const durationMs = elapsedMs(clock, startedMs);
    const { usage } = attempt;
    activity.emit({ kind: 'attempt-ended', task, state, message, error: undefined, turns: 0, usage, durationMs });
    attempt.announce(event);
  } catch (error) {
    if (error instanceof Diagnostic && !task.isTerminal) task.apply({ kind: 'broke', error: error.message });
    throw error;
  }
}

async function asked(attempt: Attempt, deps: AskingDeps): Promise<TaskEvent> {
  const { task, place } = attempt;
  const { activity, approvals } = deps;
  try {
    attempt.throwIfCanceled();
    if (approvals === null) throw new Error('a session that asks for its children has approvals');
    // D1 has no step from submitted to input-required, so announce `working` first.
    attempt.announce({ kind: 'turn-started', turn: 1 });
    const end = await approvals.passed.pass(
      {
        task,
        place,
        ask: (question, timeoutMs) => waitForApproval(task, question, { ...deps, timeoutMs }),
        told: (prompt) => activity.emit({ kind: 'noted', task, event: answeredBefore(task, prompt) }),
      },
      task.passed,
    );
    attempt.throwIfCanceled();
    if (task.passed !== null) task.passed.end = end;
    task.result = wordsOf(end, task);
    return { kind: 'completed' };
  } catch (error) {
    if (!(error instanceof TaskCanceled)) throw error;
    activity.emit({ kind: 'task-canceled', task, announcement: null });
    return { kind: 'canceled' };
  }
}

function answeredBefore({ id, answeredBy }: Task, prompt: string): TraceEvent {
  const by = answeredBy === null ? {} : { principal: answeredBy };
  return { event_type: 'task_input_required', task_id: id, prompt, outcome: 'answered', ...by, duration_ms: 0 };
}

function wordsOf(end: QuestionEnd, { answeredBy }: Task): string {
  return end.kind === 'timed-out' ? 'nobody answered in time' : `${end.decision} by ${answeredBy ?? 'nobody known'}`;
}
