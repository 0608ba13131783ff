import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { encodeNumberedFrame } from '@svc/protocol/frames.ts';
import type { ContextId, TaskId } from '@svc/protocol/ids.ts';
import { SessionActivity } from '../task/activity.ts';
import { EventStream } from '../stream/event-stream.ts';
import { passThrough } from '../recorder/recorder.ts';
import { waitForInput, type InputWaitDeps } from './input-wait.ts';
import { taskFrames } from '../stream/task-frames.ts';
import { Task, TaskCanceled } from '../task/task.ts';

function workingTask(): { readonly task: Task; readonly deps: InputWaitDeps; readonly frames: string[] } {
  const task = new Task(
    { id: 'tsk_1' as TaskId, contextId: 'ctx_1' as ContextId },
    { text: 'Paint the door.', origin: 'user', trust: 'trusted' },
  );
  task.apply({ kind: 'turn-started', turn: 1 });
  const frames: string[] = [];
  const stream = new EventStream((frame, id) => {
    const text = encodeNumberedFrame(id, frame);
    frames.push(`${id} ${/"message":"([^"]*)"/.exec(text)?.[1]}`);
  });
  const clock = new FakeClock();
  const activity = new SessionActivity();
  activity.subscribe(taskFrames(stream));
  return { task, frames, deps: { activity, recorder: passThrough(clock), clock, timeoutMs: null } };
}

describe('the questions of one task', () => {
  it('come one at a time, in the order of the calls, each from the same first id [D1-ID-10, D1-ID-12]', async () => {
    const { task, deps, frames } = workingTask();
    const answers: unknown[] = [];
    const asked = ['One?', 'Two?', 'Three?'].map(async (prompt) => {
      answers.push([prompt, await waitForInput(task, prompt, deps)]);
    });
    for (const [index, prompt] of ['One?', 'Two?', 'Three?'].entries()) {
      expect(task.inputWait?.question.prompt).toBe(prompt);
      task.inputWait?.answer(`answer ${index + 1}`);
      await asked[index];
    }
    expect(answers).toEqual([
      ['One?', { kind: 'answered', text: 'answer 1' }],
      ['Two?', { kind: 'answered', text: 'answer 2' }],
      ['Three?', { kind: 'answered', text: 'answer 3' }],
    ]);
    expect(frames).toEqual([
      '9223372036854775807 One?',
      '9223372036854775808 resumed',
      '9223372036854775807 Two?',
      '9223372036854775808 resumed',
      '9223372036854775807 Three?',
      '9223372036854775808 resumed',
    ]);
  });

  it('all end with the cancel, those that still wait their turn unseen', async () => {
    const { task, deps, frames } = workingTask();
    const ends = [waitForInput(task, 'One?', deps), waitForInput(task, 'Two?', deps)];
    task.requestCancel();
    for (const end of await Promise.allSettled(ends)) {
      expect(end).toMatchObject({ status: 'rejected', reason: expect.any(TaskCanceled) });
    }
    expect(frames).toEqual(['9223372036854775807 One?']);
  });
});
