import { describe, expect, it } from 'vitest';

import { canceled, completed, reply, working } from '../support/frame-lines.ts';
import { Gate } from '../support/gate.ts';
import { runs, says, script } from '../support/scripted-turns.ts';
import { useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

const shell = 'capabilities: { shell: { allow: [sh] } }\n';
const busy = script(runs(Gate.command), says('Done.'));

function queueOf(depth: number): string {
  return `${shell}lifecycle: { task_acceptance: queue, after_task: sleep, queue_depth: ${depth} }\n`;
}

function canceledUnstarted(task: string): string {
  return `status {"id":"${task}","status":{"state":"canceled","message":"task canceled before it started"},"final":true}`;
}

function printed(word: string): string {
  return `artifact {"id":"task-1","artifact":{"tool_name":"sh","content":"<untrusted-content source=tool:sh>\\ncommand: echo here > arrived; cat leave\\nexit code: 0\\nstdout:\\n${word}\\nstderr: (empty)\\n</untrusted-content>","fence_source":"tool:sh","tool_call_id":"run_1","is_error":false,"duration_ms":<ms>,"exit_code":0,"truncated":false}}`;
}

describe('a task that waits in the queue', () => {
  it('ends at a cancel with ids of the session, on every open stream, and closes those of other tasks [D1-STATE-15, D1-STATE-21, D1-FRAME-08, D1-ID-04, D1-ID-11, D1-STREAM-03, D1-STREAM-13]', async () => {
    const capsule = await capsules.script({ manifest: queueOf(2), script: busy });
    const gate = new Gate(capsule.line.workdir);
    const watch = await capsule.watch();
    const running = await capsule.submit('First.');
    await gate.reached();
    const second = await capsule.send('Second.');
    const third = await capsule.submit('Third.', 'third');

    const unstarted = { state: 'canceled', message: 'task canceled before it started' };
    expect(await capsule.rpc('tasks/cancel', { id: second.id })).toEqual({ ...second, status: unstarted });
    expect((await running.untilClosed()).lines).toEqual([
      `0 ${working(1)}`,
      `2305843009213693951 ${canceledUnstarted('task-2')}`,
    ]);
    expect((await third.untilClosed()).lines).toEqual([`2305843009213693951 ${canceledUnstarted('task-1')}`]);

    const received = capsule.trace.filter((line) => line['event_type'] === 'task_received');
    const thirdId = received[2]?.['task_id'];
    const later = await capsule.submit('Fourth.');
    expect(await capsule.rpc('tasks/cancel', { id: thirdId })).toMatchObject({ contextId: 'third', status: unstarted });
    expect((await later.untilClosed()).lines).toEqual([`2305843009213693952 ${canceledUnstarted('task-1')}`]);
    expect(await capsule.task(second.id)).toEqual({ ...second, status: unstarted });

    await gate.open('go');
    await gate.reached();
    await gate.open('on');
    const fourthEnds = (line: string): boolean => line.includes('"task-4"') && line.includes('"completed"');
    await watch.until(() => watch.lines.some(fourthEnds));
    expect(watch.lines.slice(1, 8)).toEqual([
      `0 ${working(1)}`,
      `2305843009213693951 ${canceledUnstarted('task-2')}`,
      `2305843009213693952 ${canceledUnstarted('task-3')}`,
      `1 ${printed('go')}`,
      `2 ${working(2)}`,
      `3 ${reply('Done.')}`,
      `4 ${completed()}`,
    ]);
    expect(watch.lines[8]).toBe(`0 ${working(1, 'task-4')}`);
  });

  it('ends before the running one at session/stop, and starts no more [D1-CARD-20, D1-STATE-14, D1-STATE-15]', async () => {
    const capsule = await capsules.script({ manifest: queueOf(1), script: busy });
    const gate = new Gate(capsule.line.workdir);
    const watch = await capsule.watch();
    const first = await capsule.send('First.');
    await gate.reached();
    const second = await capsule.send('Second.');
    expect(await capsule.rpc('session/stop', {})).toEqual({
      session_id: capsule.line.session_id,
      canceled: [first.id, second.id].sort(),
      residue: [],
    });
    expect((await capsule.terminate()).code).toBe(1);
    expect((await watch.untilClosed()).lines.slice(1)).toEqual([
      `0 ${working(1)}`,
      `2305843009213693951 ${canceledUnstarted('task-2')}`,
      `1 ${canceled()}`,
      '- capsule-closed {}',
    ]);
  });

  it('has the id that tasks/get and tasks/cancel mean, and not the running one [D1-SEND-04, D1-CARD-18, D1-CARD-19]', async () => {
    const capsule = await capsules.script({ manifest: queueOf(1), script: busy });
    const gate = new Gate(capsule.line.workdir);
    const running = await capsule.send('First.');
    await gate.reached();
    const waiting = await capsule.send('Second.');
    const state = async (id: string): Promise<unknown> => (await capsule.task(id)).status.state;
    expect(await state(running.id)).toBe('working');
    expect(await state(waiting.id)).toBe('submitted');
    await capsule.rpc('tasks/cancel', { id: waiting.id });
    expect(await state(waiting.id)).toBe('canceled');
    expect(await state(running.id)).toBe('working');
  });
});

describe('a running task', () => {
  it('ends in the middle of a shell command at a cancel [D1-STATE-14, D1-STATE-21, D1-FRAME-08, D1-FRAME-11, D1-ID-01]', async () => {
    const capsule = await capsules.script({ manifest: queueOf(1), script: busy });
    const gate = new Gate(capsule.line.workdir);
    const stream = await capsule.submit('Work.', 'mine');
    await gate.reached();
    const { id } = (await stream.status('working', 'inference turn 1')).data;
    const ended = { id, contextId: 'mine', status: { state: 'canceled', message: 'task canceled' } };
    expect(await capsule.rpc('tasks/cancel', { id })).toEqual(ended);
    expect((await stream.untilClosed()).lines).toEqual([`0 ${working(1)}`, `1 ${canceled()}`]);
    // It stays as it is: nothing is written for a task that has ended.
    const next = await capsule.submit('Work again.');
    await gate.reached();
    expect(await capsule.rpc('tasks/cancel', { id })).toEqual(ended);
    await gate.open('go');
    expect((await next.untilClosed()).lines).toEqual([
      `0 ${working(1)}`,
      `1 ${printed('go')}`,
      `2 ${working(2)}`,
      `3 ${reply('Done.')}`,
      `4 ${completed()}`,
    ]);
  });

  it('ends in the middle of an inference call at a cancel [D1-STATE-14, D1-ID-01, D1-ID-09]', async () => {
    const capsule = await capsules.script({
      manifest: queueOf(1),
      script: script(says('Done.', { delay_ms: 600_000 })),
    });
    const stream = await capsule.submit('Think.');
    const { data } = await stream.status('working', 'inference turn 1');
    expect(await capsule.rpc('tasks/cancel', { id: data['id'] })).toMatchObject({ status: { state: 'canceled' } });
    expect((await stream.untilClosed()).lines).toEqual([`0 ${working(1)}`, `1 ${canceled()}`]);
  });
});

describe('a task that there is no room for', () => {
  it('fails on the connection that submitted it, and nowhere else [D1-STATE-16, D1-STATE-17, D1-STATE-21, D1-FRAME-08, D1-FRAME-54, D1-ID-05, D1-STREAM-04, D1-STREAM-20]', async () => {
    const capsule = await capsules.script({ manifest: queueOf(0), script: busy });
    const gate = new Gate(capsule.line.workdir);
    const watch = await capsule.watch();
    const running = await capsule.submit('First.');
    await gate.reached();
    const refused = await (await capsule.submit('Second.')).untilClosed();
    const id = String(refused.frames[0]?.data['id']);
    expect(id).toMatch(/^tsk_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
    expect(refused.body).toBe(
      `id: 0\nevent: status\ndata: {"id":"${id}","status":{"state":"rejected","message":"task rejected: capsule is busy"},"final":true}\n\n`,
    );
    expect(await capsule.task(id)).toMatchObject({ code: -32001 });
    await gate.open('go');
    const frames = [
      `0 ${working(1)}`,
      `1 ${printed('go')}`,
      `2 ${working(2)}`,
      `3 ${reply('Done.')}`,
      `4 ${completed()}`,
    ];
    expect((await running.untilClosed()).lines).toEqual(frames);
    expect((await capsule.terminate()).code).toBe(0);
    expect((await watch.untilClosed()).lines.slice(1, -1)).toEqual(frames);
  });

  it('leaves nothing for a replay, not even for one that repeats frames with id 0 [D1-STATE-17]', async () => {
    const chunks = Array.from({ length: 600 }, () => 'x');
    const capsule = await capsules.script({
      manifest: queueOf(0),
      script: script({ ...runs(Gate.command), chunks }, says('Done.')),
    });
    const gate = new Gate(capsule.line.workdir);
    const running = await capsule.submit('First.');
    await gate.reached();
    await (await capsule.submit('Second.')).untilClosed();
    const late = await capsule.watch();
    await late.until(({ id }) => id === '601');
    // Ids 0 to 601 were written and 512 of them are kept.
    expect(late.frames[1]?.text).toBe('{"first_available_id":90}');
    expect(late.frames.slice(2).map(({ id, event }) => `${id} ${event}`)).toEqual(
      Array.from({ length: 512 }, (_, index) => `${90 + index} text`),
    );
    await gate.open('go');
    await running.untilClosed();
  });
});
