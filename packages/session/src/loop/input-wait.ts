/** Waits for the answer to a question that a tool asks. */

import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import type { Question, QuestionName } from '@svc/protocol/question.ts';
import { wordsOfAnswer } from '../approvals/question-words.ts';
import type { InputAnswer } from '../tools/tool.ts';
import type { SessionActivity } from '../task/activity.ts';
import type { Recorder } from '../recorder/recorder.ts';
import {
  type Announcement,
  type ApprovalEnd,
  type QuestionEnd,
  TaskCanceled,
  type Task,
  type TaskEvent,
} from '../task/task.ts';

export interface InputWaitDeps {
  readonly activity: SessionActivity;
  readonly recorder: Recorder;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** With null it waits for as long as it takes. */
  readonly timeoutMs: number | null;
}

/**
 * Asks the sender of the task and waits: `input-required`, then `resumed` or `input-timeout` (D1 "Task states"). A task asks one question at a
 * time: another call waits until those before it are settled. Rejects with `TaskCanceled` when the task is canceled meanwhile, and with the
 * Diagnostic of a record that cannot be written.
 */
export async function waitForInput(task: Task, prompt: string, deps: InputWaitDeps): Promise<InputAnswer> {
  const end = await waitForTurn(task, (name) => ({ ...name, prompt }), deps);
  if (end.kind === 'decided') throw new Error('a question of a tool is answered with a text');
  return end;
}

/** The same for a call that waits for approval. `question` is called once, when its turn has come; what it throws is what this rejects with. */
export async function waitForApproval(
  task: Task,
  question: (name: QuestionName) => Question,
  deps: InputWaitDeps,
): Promise<QuestionEnd> {
  const end = await waitForTurn(task, question, deps);
  if (end.kind === 'answered') throw new Error('no text answers an approval');
  return end;
}

type QuestionAnswered = InputAnswer | ApprovalEnd;

async function waitForTurn(
  task: Task,
  question: (name: QuestionName) => Question,
  deps: InputWaitDeps,
): Promise<QuestionAnswered> {
  while (task.inputWait !== null) await task.inputWait.settled.catch(() => {});
  if (task.signal.aborted) throw new TaskCanceled();
  task.questions += 1;
  return await untilSettled(task, question({ taskId: task.id, waitId: `q${task.questions}` }), deps);
}

type Settlement = QuestionAnswered | { readonly kind: 'canceled' };

function untilSettled(task: Task, question: Question, deps: InputWaitDeps): Promise<QuestionAnswered> {
  const { activity, clock, recorder, timeoutMs } = deps;
  const { prompt } = question;
  const startedMs = clock.monotonicMs();
  let resolve: (answer: QuestionAnswered) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const settled = new Promise<QuestionAnswered>((...settles) => {
    [resolve, reject] = settles;
  });
  const cancelTimer =
    timeoutMs === null
      ? () => {}
      : recorder.timer(`${task.id}/${question.waitId}`, timeoutMs, () => settle({ kind: 'timed-out' }));
  const onAbort = (): void => settle({ kind: 'canceled' });
  task.signal.addEventListener('abort', onAbort, { once: true });
  task.inputWait = { question, settled, answer: (text) => settle({ kind: 'answered', text }), decide: settle };
  orReject(() => {
    announced(task, { kind: 'input-requested', prompt });
    activity.emit({ kind: 'question', task, question });
  });
  return settled;

  /** Emits the state change before the caller gets its response, so that the caller sees `working`. */
  function settle(answer: Settlement): void {
    forget();
    orReject(() => {
      const end = answer.kind === 'decided' ? 'answered' : answer.kind;
      const announcement = end === 'canceled' ? null : announced(task, stepAfter[end]);
      const durationMs = elapsedMs(clock, startedMs);
      const text = textOf(answer);
      activity.emit({ kind: 'question-settled', task, question, end, answer: text, announcement, durationMs });
      if (answer.kind === 'canceled') reject(new TaskCanceled());
      else resolve(answer);
    });
  }

  function orReject(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      forget();
      reject(error);
    }
  }

  function forget(): void {
    cancelTimer();
    task.signal.removeEventListener('abort', onAbort);
    task.inputWait = null;
  }
}

/** An answer as clients are shown it; null for a question that nobody answered. */
function textOf(answer: Settlement): string | null {
  if (answer.kind === 'answered') return answer.text;
  if (answer.kind !== 'decided') return null;
  return wordsOfAnswer(answer.decision, answer.option);
}

const stepAfter = { answered: { kind: 'input-answered' }, 'timed-out': { kind: 'input-timed-out' } } as const;

function announced(task: Task, event: TaskEvent): Announcement {
  const announcement = task.apply(event);
  if (announcement === null) throw new Error('every step of a question is announced');
  return announcement;
}
