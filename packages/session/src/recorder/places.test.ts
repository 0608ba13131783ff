import { expect, it } from 'vitest';

import { hangs, says } from '../../../../test/support/fake-driver.ts';
import { SessionFixture } from '../../../../test/support/session-fixture.ts';
import { passThrough } from './recorder.ts';
import { Places } from './places.ts';

it('a place has a number at its end from the second time on', () => {
  const places = new Places();
  const asked = ['tsk_1/1/m1', 'tsk_1/1/m1', 'tsk_2/1/m1', 'session/background', 'tsk_1/1/m1', 'session/background'];
  expect(asked.map((place) => places.next(place))).toEqual([
    'tsk_1/1/m1',
    'tsk_1/1/m1.2',
    'tsk_2/1/m1',
    'session/background',
    'tsk_1/1/m1.3',
    'session/background.2',
  ]);
});

it('hooks that lag behind are counted on when their task has settled, and nothing else of it is held', () => {
  const places = new Places();
  const ofTask = ['tsk_1/1/m1', 'tsk_1/1/m1/t1', 'tsk_1/save', 'tsk_1/h-on-tool-call/slow', 'tsk_1/completion/slow'];
  for (const place of ofTask) places.next(place);
  expect(places.size).toBe(5);
  places.over('tsk_1');
  expect(places.size).toBe(2);
  expect(places.next('tsk_1/h-on-tool-call/slow')).toBe('tsk_1/h-on-tool-call/slow.2');
  expect(places.next('tsk_1/completion/slow')).toBe('tsk_1/completion/slow.2');
});

it('two hundred thousand tasks need no more places than a thousand', () => {
  const places = new Places();
  for (let task = 0; task < 200_000; task += 1) {
    const id = `tsk_${task}`;
    for (let turn = 1; turn <= 3; turn += 1) places.next(`${id}/1/m${turn}`);
    places.next(`${id}/h-on-task-end/slow`);
    places.over(id);
  }
  expect(places.size).toBe(1024);
});

it('a session says of each of its tasks that it is over, also of one that never began', async () => {
  const over: string[] = [];
  const fixture = new SessionFixture({
    turns: [says('done'), hangs],
    acceptance: { afterTask: 'sleep', queueDepth: 5 },
    recorder: (clock) => ({ ...passThrough(clock), over: (id) => void over.push(id) }),
  });
  const { board } = fixture.session;
  const submit = (text: string) => board.submit({ text, origin: 'message', trust: 'untrusted' }).task;
  const tasks = [submit('first'), submit('second'), submit('third'), submit('fourth')];
  void fixture.session.run();
  await fixture.frame(({ id, event }) => event === 'status' && id > 0n);
  if (tasks[2] !== undefined) await board.cancel(tasks[2]);
  await fixture.session.shutDown();
  expect(over.toSorted()).toEqual(tasks.map(({ id }) => id).toSorted());
});
