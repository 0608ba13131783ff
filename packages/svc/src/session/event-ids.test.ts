import { describe, expect, it } from 'vitest';

import { SessionEventIds } from './event-stream.ts';

describe('the counters of a session', () => {
  it('start where the table says and advance by one [D1-ID-07, D1-ID-08, D1-ID-11]', () => {
    const ids = new SessionEventIds();
    const task = ids.taskCounter();
    expect([task.next(), task.next()]).toEqual([0n, 1n]);
    expect([ids.chunks.next(), ids.chunks.next()]).toEqual([4611686018427387903n, 4611686018427387904n]);
    expect([ids.queuedCancels.next(), ids.queuedCancels.next()]).toEqual([2305843009213693951n, 2305843009213693952n]);
  });

  it('start the input-wait counter again for each call [D1-ID-10]', () => {
    const ids = new SessionEventIds();
    const first = ids.inputWaitCounter();
    expect([first.next(), first.next()]).toEqual([9223372036854775807n, 9223372036854775808n]);
    expect(ids.inputWaitCounter().next()).toBe(9223372036854775807n);
  });

  it('hand the task counter to the chunks and back around an inference call [D1-ID-09]', async () => {
    const ids = new SessionEventIds();
    const task = ids.taskCounter();
    task.next();
    const chunks = await ids.handOver(task, () => [ids.chunks.next(), ids.chunks.next()]);
    expect(chunks).toEqual([1n, 2n]);
    expect(task.next()).toBe(3n);
  });

  it('hand back also when the call fails', async () => {
    const ids = new SessionEventIds();
    const task = ids.taskCounter();
    const failing = ids.handOver(task, () => {
      ids.chunks.next();
      throw new Error('lost');
    });
    await expect(failing).rejects.toThrow('lost');
    expect(task.next()).toBe(1n);
  });

  it('give two tasks the same labels [D1-ID-12]', () => {
    const ids = new SessionEventIds();
    expect(ids.taskCounter().next()).toBe(ids.taskCounter().next());
  });
});
