import { setImmediate } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { EndBudget } from './blocking-hooks.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'hrtime'] }));
afterEach(() => vi.useRealTimers());

const hour = 3_600_000;

/** Something that is waited for until `end` is called. */
function waited(budget: EndBudget): { readonly end: () => Promise<void> } {
  let finish = (): void => {};
  const over = budget.during(() => new Promise<void>((resolve) => (finish = resolve)));
  return {
    end: async () => {
      finish();
      await over;
    },
  };
}

describe('the time of hooks after a stop', () => {
  it('counts from the stop on', async () => {
    const budget = new EndBudget(new AbortController().signal, 1_000);
    const wait = waited(budget);
    vi.advanceTimersByTime(hour);
    await wait.end();
    expect(budget.signal.aborted).toBe(false);
  });

  it('counts what is waited for when the stop comes', async () => {
    const stop = new AbortController();
    const budget = new EndBudget(stop.signal, 1_000);
    waited(budget);
    vi.advanceTimersByTime(hour);
    stop.abort();
    vi.advanceTimersByTime(999);
    expect(budget.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    await setImmediate();
    expect(budget.signal.aborted).toBe(true);
  });

  it('counts once where two hooks run, and stands still where none runs', async () => {
    const stop = new AbortController();
    stop.abort();
    const budget = new EndBudget(stop.signal, 1_000);
    vi.advanceTimersByTime(hour);
    const [one, other] = [waited(budget), waited(budget)];
    vi.advanceTimersByTime(600);
    await one.end();
    await other.end();
    vi.advanceTimersByTime(hour);
    expect(budget.signal.aborted).toBe(false);
    waited(budget);
    vi.advanceTimersByTime(399);
    expect(budget.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    await setImmediate();
    expect(budget.signal.aborted).toBe(true);
  });
});
