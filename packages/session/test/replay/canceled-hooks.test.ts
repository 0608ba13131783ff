import { expect, it } from 'vitest';

import { type FakeHook, FakeHooks, hang, hookedTask } from '../../../../test/support/fake-hooks.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { EndBudget } from '../../src/hooks/blocking-hooks.ts';
import { callHook } from '../../src/hooks/hook.ts';
import { type Crossing, type Gate, hooksTimeOver, RecordingGate } from '../../src/gate/gate.ts';
import { gatedHookCalls } from '../../src/gate/gated.ts';
import { ReplayGate } from '../../src/replay/replay-gate.ts';

const slow: FakeHook = { name: 'slow', binding: 'on-task-end', does: hang };
const next: FakeHook = { name: 'next', binding: 'on-task-end' };

function hooksAt(gate: Gate, budget: EndBudget, call = callHook): FakeHooks {
  return new FakeHooks([slow, next], { budget, timer: gate.timer.bind(gate), call: gatedHookCalls(call, gate) });
}

async function session({ set }: FakeHooks): Promise<void> {
  const task = hookedTask();
  task.cancel();
  await set.taskEnded(task, { state: 'canceled', text: null });
}

it('a replay repeats the end of a canceled task whose hooks used up their time', async () => {
  const crossings: Crossing[] = [];
  const record = (crossing: Crossing): void => void crossings.push(structuredClone(crossing));
  const clock = {
    monotonicMs: () => systemClock.monotonicMs(),
    after: (_: number, callback: () => void) => systemClock.after(1, callback),
  };
  const recorded = hooksAt(new RecordingGate(record, clock), new EndBudget(new AbortController().signal, 20_000));
  await session(recorded);
  const late = 'it did not answer within 10 s of the cancel';
  expect(recorded.errors).toEqual([`slow on-task-end: ${late}`, `next on-task-end: ${late}`]);
  expect(crossings.map((crossing) => (crossing.kind === 'arrived' ? crossing.what : crossing.kind))).toEqual([
    'start',
    'timer',
    'end',
    'start',
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
