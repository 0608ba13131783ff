import { setImmediate } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { CallDeadline } from './call-deadline.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'hrtime'] }));
afterEach(() => vi.useRealTimers());

describe('the deadline of a call', () => {
  it('counts only the time it runs', async () => {
    const passed = vi.fn<() => void>();
    const deadline = new CallDeadline(1_000, passed);
    deadline.run();
    vi.advanceTimersByTime(600);
    deadline.pause();
    vi.advanceTimersByTime(3_600_000);
    deadline.run();
    vi.advanceTimersByTime(399);
    await setImmediate();
    expect(passed).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    await setImmediate();
    expect(passed).toHaveBeenCalledOnce();
  });

  it('does not pass where the answer is found together with the end of its time', async () => {
    const passed = vi.fn<() => void>();
    const deadline = new CallDeadline(1_000, passed);
    deadline.run();
    vi.advanceTimersByTime(1_000);
    deadline.stop();
    await setImmediate();
    expect(passed).not.toHaveBeenCalled();
  });

  it('does not pass once it is stopped, nor at once for being very far', async () => {
    const passed = vi.fn<() => void>();
    const [stopped, far] = [new CallDeadline(10, passed), new CallDeadline(Number.MAX_SAFE_INTEGER, passed)];
    stopped.run();
    far.run();
    stopped.stop();
    vi.advanceTimersByTime(1_000_000);
    await setImmediate();
    expect(passed).not.toHaveBeenCalled();
  });
});
