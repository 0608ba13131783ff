import { expect, it } from 'vitest';

import { type FakeHook, FakeHooks, hang, hookedTask } from '../../../../test/support/fake-hooks.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { EndBudget } from '../../src/hooks/blocking-hooks.ts';
import { callHook } from '../../src/hooks/hook.ts';
import { type Crossing, type Gate, hooksTimeOver, RecordingGate } from '../../src/gate/gate.ts';
import { gatedHookCalls } from '../../src/gate/gated.ts';
import { ReplayGate } from '../../src/replay/replay-gate.ts';

/** An async hook that never answers, and that has more to hear when the session ends. */
const slow: FakeHook = {
  name: 'slow',
  execution_mode: 'async',
  binding: ['on-task-start', 'on-session-end'],
  does: hang,
};

function hooksAt(gate: Gate, budget: EndBudget, call = callHook): FakeHooks {
  return new FakeHooks([slow], { budget, timer: gate.timer.bind(gate), call: gatedHookCalls(call, gate) });
}

async function session({ set }: FakeHooks): Promise<void> {
  await set.taskStarted(hookedTask(), 'Go.');
  await set.taskStarted(hookedTask(), 'Go on.');
  await set.sessionEnded('ok');
}

it('a replay repeats a session that was stopped while a hook used up the time for hooks', async () => {
  const crossings: Crossing[] = [];
  const recording = new RecordingGate((crossing) => void crossings.push(structuredClone(crossing)), systemClock);
  const stop = new AbortController();
  const budget = new EndBudget(stop.signal, 20, () => recording.arrive(hooksTimeOver));
  const recorded = hooksAt(recording, budget);
  stop.abort();
  await session(recorded);
  expect(recorded.errors).toEqual([
    'slow on-task-start: 2 events were not delivered: the session had to end',
    'slow on-task-start: it did not answer before the session had to end',
  ]);
  expect(crossings.map((crossing) => (crossing.kind === 'arrived' ? crossing.what : crossing.kind))).toEqual([
    'start',
    'timer',
    'end',
  ]);

  const gate = new ReplayGate(crossings, () => ({ arrive: () => true, note: () => {} }));
  const again = EndBudget.ofRecording((end) => void gate.timer(hooksTimeOver.name, 0, end));
  const replayed = hooksAt(gate, again, () => Promise.reject(new Error('no hook is called in a replay')));
  gate.begin();
  void session(replayed).then(() => gate.finish());
  expect(await gate.ended).toEqual({ kind: 'same' });
  expect(replayed.errors).toEqual(recorded.errors);
});
