import { describe, expect, it } from 'vitest';

import { FakeHooks, hang, hookedTask } from '../../../../test/support/fake-hooks.ts';

const completed = { state: 'completed', text: 'Done.' } as const;

describe('the hooks of the end of a task', () => {
  it.each(['while they think', 'before they are asked'])('have 10 s together after a cancel %s', async (when) => {
    const timers: { readonly name: string; readonly ms: number; readonly over: () => void }[] = [];
    const hooks = new FakeHooks([{ name: 'a', does: hang }, { name: 'b' }], {
      timer: (name, ms, over) => (timers.push({ name, ms, over }), () => {}),
    });
    const task = hookedTask();
    if (when === 'before they are asked') task.cancel();
    const ended = hooks.set.taskEnded(task, completed);
    await new Promise((resolve) => setImmediate(resolve));
    task.cancel();
    expect(timers).toMatchObject([{ name: 'hooks/cancel', ms: 10_000 }]);
    timers[0]?.over();
    expect(await ended).toEqual({ kind: 'accepted' });
    const late = 'it did not answer within 10 s of the cancel';
    expect(hooks.errors).toEqual([`a on-task-end: ${late}`, `b on-task-end: ${late}`]);
    expect(hooks.heard).toEqual(['a on-task-end']);
  });

  it('have no such time once they have answered', async () => {
    let begun = 0;
    let takenBack = 0;
    const hooks = new FakeHooks([{ name: 'a' }], { timer: () => ((begun += 1), () => void (takenBack += 1)) });
    const canceled = hookedTask();
    canceled.cancel();
    await hooks.set.taskEnded(canceled, { state: 'canceled', text: null });
    expect({ begun, takenBack }).toEqual({ begun: 1, takenBack: 1 });
    const task = hookedTask();
    await hooks.set.taskEnded(task, completed);
    task.cancel();
    expect(begun).toBe(1);
  });

  it('hold up the task for at most that time where one of them has a full queue', async () => {
    let over = (): void => {};
    const full = { name: 'full', execution_mode: 'async', binding: 'on-task-end', does: hang } as const;
    const hooks = new FakeHooks([full], { timer: (_, __, callback) => ((over = callback), () => {}) });
    for (let count = 0; count < 257; count += 1) await hooks.set.taskEnded(hookedTask(), completed);
    const task = hookedTask();
    const ended = hooks.set.taskEnded(task, completed);
    task.cancel();
    over();
    expect(await ended).toEqual({ kind: 'accepted' });
    expect(hooks.errors).toEqual(['full on-task-end: it missed the event: its queue was full to the end']);
  });
});
