import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { CallDeadline } from './call-deadline.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => vi.useRealTimers());

describe('the deadline of a call', () => {
  it('counts only the time it runs', () => {
    const passed = vi.fn<() => void>();
    const deadline = new CallDeadline(1_000, passed);
    deadline.run();
    vi.advanceTimersByTime(600);
    deadline.pause();
    vi.advanceTimersByTime(3_600_000);
    deadline.run();
    vi.advanceTimersByTime(399);
    expect(passed).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(passed).toHaveBeenCalledOnce();
  });

  it('does not pass once it is stopped, nor at once for being very far', () => {
    const passed = vi.fn<() => void>();
    const [stopped, far] = [new CallDeadline(10, passed), new CallDeadline(Number.MAX_SAFE_INTEGER, passed)];
    stopped.run();
    far.run();
    stopped.stop();
    vi.advanceTimersByTime(1_000_000);
    expect(passed).not.toHaveBeenCalled();
  });
});
