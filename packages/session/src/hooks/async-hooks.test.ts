import { describe, expect, it } from 'vitest';

import { EventQueue, queueCapacity, type QueuedEvent } from './async-hooks.ts';

const never = new AbortController().signal;

function numbered(number: number): QueuedEvent {
  return { event: 'on-inference', taskId: String(number), argument: () => ({}) };
}

/** A queue whose hook hears the next event only when it is let. */
class SlowQueue {
  readonly delivered: string[] = [];
  readonly lost: string[] = [];
  readonly queue: EventQueue;
  #release: (() => void)[] = [];

  constructor(onOverflow: 'wait' | 'drop') {
    this.queue = new EventQueue({
      onOverflow,
      deliver: async ({ taskId }) => {
        this.delivered.push(taskId ?? '');
        await new Promise<void>((resolve) => this.#release.push(resolve));
      },
      onLost: (event, reason) => void this.lost.push(`${event}: ${reason}`),
    });
  }

  /** Lets one delivery end, and everything that follows from it happen. */
  async next(): Promise<void> {
    this.#release.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  async all(): Promise<void> {
    for (let left = 10_000; left > 0 && this.#release.length > 0; left -= 1) await this.next();
  }
}

/** One is being delivered, and as many wait as can. */
async function full(onOverflow: 'wait' | 'drop'): Promise<SlowQueue> {
  const slow = new SlowQueue(onOverflow);
  for (let number = 0; number <= queueCapacity; number += 1) await slow.queue.push(numbered(number), never);
  return slow;
}

describe('the queue of an async hook', () => {
  it('holds 256 events and delivers them one after another in their order', async () => {
    const slow = await full('wait');
    expect(queueCapacity).toBe(256);
    expect(slow.delivered).toEqual(['0']);
    const drained = slow.queue.drained();
    await slow.all();
    await drained;
    expect(slow.delivered).toEqual(Array.from({ length: 257 }, (_, number) => String(number)));
    expect(slow.lost).toEqual([]);
  });

  it('holds up its sender while it is full', async () => {
    const slow = await full('wait');
    let told = false;
    const push = slow.queue.push(numbered(257), never).then(() => (told = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toBe(false);
    await slow.next();
    await push;
    await slow.all();
    expect(slow.delivered.at(-1)).toBe('257');
  });

  it('lets a canceled task go on, and reports that its hook missed the event', async () => {
    const slow = await full('wait');
    const cancel = new AbortController();
    const push = slow.queue.push(numbered(257), cancel.signal);
    cancel.abort();
    await push;
    await slow.all();
    expect(slow.delivered).not.toContain('257');
    expect(slow.lost).toEqual(['on-inference: it missed the event: its queue was full to the end']);
  });

  it('drops the newest and says so once for those that follow each other', async () => {
    const slow = await full('drop');
    for (const number of [257, 258, 259]) await slow.queue.push(numbered(number), never);
    expect(slow.lost).toEqual([]);
    await slow.next();
    await slow.queue.push(numbered(260), never);
    expect(slow.lost).toEqual(['on-inference: 3 events were dropped: 256 were waiting']);
    await slow.queue.push(numbered(261), never);
    const drained = slow.queue.drained();
    await slow.all();
    await drained;
    expect(slow.delivered.slice(-2)).toEqual(['256', '260']);
    expect(slow.lost[1]).toBe('on-inference: 1 event was dropped: 256 were waiting');
  });

  it('says how many it gave up at the end, and takes nothing more', async () => {
    const slow = await full('wait');
    const waiting = slow.queue.push(numbered(257), never);
    slow.queue.abandon('the session had to end');
    await waiting;
    expect(slow.lost).toEqual([
      'on-inference: 256 events were not delivered: the session had to end',
      'on-inference: it missed the event: the session had to end',
    ]);
    await slow.all();
    expect(slow.delivered).toEqual(['0']);
  });

  it('passes the first delivery that rejects to the next sender, or to the waiter for the end', async () => {
    const delivered: string[] = [];
    const queue = new EventQueue({
      onOverflow: 'wait',
      deliver: async ({ taskId }) => {
        delivered.push(taskId ?? '');
        if (taskId === '1') throw new TypeError('it is no answer');
      },
      onLost: () => {},
    });
    for (const number of [0, 1]) await queue.push(numbered(number), never);
    // Nobody waits for the queue meanwhile: a rejection that nobody handles would end the process.
    await new Promise((resolve) => setImmediate(resolve));
    await expect(queue.push(numbered(2), never)).rejects.toThrow('it is no answer');
    await expect(queue.drained()).rejects.toThrow('it is no answer');
    expect(delivered).toEqual(['0', '1']);
  });

  it('wakes those that wait for room when a delivery rejects', async () => {
    let fail = (): void => {};
    const queue = new EventQueue({
      onOverflow: 'wait',
      deliver: () => new Promise((_, reject) => (fail = () => reject(new TypeError('it is no answer')))),
      onLost: () => {},
    });
    for (let number = 0; number <= queueCapacity; number += 1) await queue.push(numbered(number), never);
    const push = queue.push(numbered(257), never);
    fail();
    await expect(push).rejects.toThrow('it is no answer');
  });
});
