import { expect, it } from 'vitest';

import { type FakeHook, FakeHooks, hang, hookedTask } from '../../../../test/support/fake-hooks.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { EndBudget } from '../../src/hooks/blocking-hooks.ts';
import { callHook } from '../../src/hooks/hook.ts';
import { type HistoryEvent, type Recorder, hooksTimeOver, LiveRecorder } from '../../src/recorder/recorder.ts';
import { recordedHookCalls } from '../../src/recorder/recorded-effects.ts';
import { Replayer } from '../../src/replay/replayer.ts';

/** An async hook that never answers, and that has more to hear when the session ends. */
const slow: FakeHook = {
  name: 'slow',
  execution_mode: 'async',
  binding: ['on-task-start', 'on-session-end'],
  does: hang,
};

function hooksAt(recorder: Recorder, budget: EndBudget, call = callHook): FakeHooks {
  return new FakeHooks([slow], {
    budget,
    timer: recorder.timer.bind(recorder),
    call: recordedHookCalls(call, recorder),
  });
}

async function session({ set }: FakeHooks): Promise<void> {
  await set.taskStarted(hookedTask(), 'Go.');
  await set.taskStarted(hookedTask(), 'Go on.');
  await set.sessionEnded('ok');
}

it('a replay repeats a session that was stopped while a hook used up the time for hooks', async () => {
  const historyEvents: HistoryEvent[] = [];
  const recording = new LiveRecorder(
    (historyEvent) => void historyEvents.push(structuredClone(historyEvent)),
    systemClock,
  );
  const stop = new AbortController();
  const budget = new EndBudget(stop.signal, 20, () => recording.arrive(hooksTimeOver));
  const recorded = hooksAt(recording, budget);
  stop.abort();
  await session(recorded);
  expect(recorded.errors).toEqual([
    'slow on-task-start: 2 events were not delivered: the session had to end',
    'slow on-task-start: it did not answer before the session had to end',
  ]);
  expect(
    historyEvents.map((historyEvent) => (historyEvent.kind === 'arrived' ? historyEvent.what : historyEvent.kind)),
  ).toEqual(['start', 'timer', 'end']);

  const recorder = new Replayer(historyEvents, () => ({ arrive: () => true, note: () => {} }));
  const again = EndBudget.ofRecording((end) => void recorder.timer(hooksTimeOver.name, 0, end));
  const replayed = hooksAt(recorder, again, () => Promise.reject(new Error('no hook is called in a replay')));
  recorder.begin();
  void session(replayed).then(() => recorder.finish());
  expect(await recorder.ended).toEqual({ kind: 'same' });
  expect(replayed.errors).toEqual(recorded.errors);
});
