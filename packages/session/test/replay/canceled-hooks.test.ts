import { expect, it } from 'vitest';

import { type FakeHook, FakeHooks, hang, hookedTask } from '../../../../test/support/fake-hooks.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { EndBudget } from '../../src/hooks/blocking-hooks.ts';
import { callHook } from '../../src/hooks/hook.ts';
import { type HistoryEvent, type Recorder, hooksTimeOver, LiveRecorder } from '../../src/recorder/recorder.ts';
import { recordedHookCalls } from '../../src/recorder/recorded-effects.ts';
import { Replayer } from '../../src/replay/replayer.ts';

const slow: FakeHook = { name: 'slow', binding: 'on-task-end', does: hang };
const next: FakeHook = { name: 'next', binding: 'on-task-end' };

function hooksAt(recorder: Recorder, budget: EndBudget, call = callHook): FakeHooks {
  return new FakeHooks([slow, next], {
    budget,
    timer: recorder.timer.bind(recorder),
    call: recordedHookCalls(call, recorder),
  });
}

async function session({ set }: FakeHooks): Promise<void> {
  const task = hookedTask();
  task.cancel();
  await set.taskEnded(task, { state: 'canceled', text: null });
}

it('a replay repeats the end of a canceled task whose hooks used up their time', async () => {
  const historyEvents: HistoryEvent[] = [];
  const record = (historyEvent: HistoryEvent): void => void historyEvents.push(structuredClone(historyEvent));
  const clock = {
    monotonicMs: () => systemClock.monotonicMs(),
    after: (_: number, callback: () => void) => systemClock.after(1, callback),
  };
  const recorded = hooksAt(new LiveRecorder(record, clock), new EndBudget(new AbortController().signal, 20_000));
  await session(recorded);
  const late = 'it did not answer within 10 s of the cancel';
  expect(recorded.errors).toEqual([`slow on-task-end: ${late}`, `next on-task-end: ${late}`]);
  expect(
    historyEvents.map((historyEvent) => (historyEvent.kind === 'arrived' ? historyEvent.what : historyEvent.kind)),
  ).toEqual(['start', 'timer', 'end', 'start', 'end']);

  const recorder = new Replayer(historyEvents, () => ({ arrive: () => true, note: () => {} }));
  const again = EndBudget.ofRecording((end) => void recorder.timer(hooksTimeOver.name, 0, end));
  const replayed = hooksAt(recorder, again, () => Promise.reject(new Error('no hook is called in a replay')));
  recorder.begin();
  void session(replayed).then(() => recorder.finish());
  expect(await recorder.ended).toEqual({ kind: 'same' });
  expect(replayed.errors).toEqual(recorded.errors);
});
