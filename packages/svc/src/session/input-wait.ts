/** Waits for the answer to a question that a tool asks. */

import type { InputAnswer } from '../tools/tool.ts';
import type { Clock } from '@svc/kit/clock.ts';
import type { EventStream, SessionEventIds } from './event-stream.ts';
import { TaskCanceled, type Task, type TaskEvent } from './task.ts';

export interface InputWaitDeps {
  readonly stream: EventStream;
  readonly ids: SessionEventIds;
  readonly clock: Clock;
  /** Null waits for as long as it takes. */
  readonly timeoutMs: number | null;
}

/**
 * Asks whoever gave the task and waits: `input-required`, then `resumed` or `input-timeout`, each from the counter of this
 * one call (D1 "Event ids"). A task asks one question at a time: another call waits until those before it are settled. Rejects with
 * `TaskCanceled` when the task is canceled meanwhile.
 */
export async function waitForInput(task: Task, prompt: string, deps: InputWaitDeps): Promise<InputAnswer> {
  while (task.inputWait !== null) await task.inputWait.settled;
  if (task.signal.aborted) throw new TaskCanceled();
  const counter = deps.ids.inputWaitCounter();

  function announce(event: TaskEvent): void {
    const announcement = task.apply(event);
    if (announcement === null) throw new Error('every step of an input wait is announced');
    const { state, message } = announcement;
    if (state === 'completed' || state === 'canceled') throw new Error('an input wait never ends a task');
    deps.stream.publish(counter.next(), {
      event: 'status',
      taskId: task.id,
      contextId: task.contextId,
      state,
      message,
      final: false,
    });
  }

  announce({ kind: 'input-requested', prompt });
  const answer = await untilSettled(task, prompt, { ...deps, announce });
  if (answer === 'canceled') throw new TaskCanceled();
  return answer;
}

type Settlement = InputAnswer | 'canceled';

/** The closing frame is written before whoever answered hears back, so that the task is `working` for them already. */
function untilSettled(
  task: Task,
  prompt: string,
  deps: InputWaitDeps & { readonly announce: (event: TaskEvent) => void },
): Promise<Settlement> {
  let resolve: (answer: Settlement) => void = () => {};
  const settled = new Promise<Settlement>((resolveSettled) => {
    resolve = resolveSettled;
  });
  const takeBack =
    deps.timeoutMs === null ? () => {} : deps.clock.after(deps.timeoutMs, () => settle({ kind: 'timed-out' }));
  const onAbort = (): void => settle('canceled');
  task.signal.addEventListener('abort', onAbort, { once: true });
  task.inputWait = { prompt, settled, answer: (text) => settle({ kind: 'answered', text }) };
  return settled;

  function settle(answer: Settlement): void {
    takeBack();
    task.signal.removeEventListener('abort', onAbort);
    task.inputWait = null;
    if (answer !== 'canceled') {
      deps.announce({ kind: answer.kind === 'answered' ? 'input-answered' : 'input-timed-out' });
    }
    resolve(answer);
  }
}
