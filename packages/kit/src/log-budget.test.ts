import { describe, expect, it } from 'vitest';

import { LogBudget } from './log-budget.ts';

describe('the budget of all logs', () => {
  it('gives what is left, and reports once that something is dropped', () => {
    let told = 0;
    const budget = new LogBudget(10);
    budget.observe(() => (told += 1));
    expect([budget.take(6), budget.take(4), told]).toEqual([6, 4, 0]);
    expect([budget.take(1), budget.take(5), told]).toEqual([0, 0, 1]);
  });

  it('gives no part of what is kept whole, and reports to a late caller', () => {
    let told = 0;
    const budget = new LogBudget(10);
    expect([budget.takeWhole(11), budget.takeWhole(10)]).toEqual([false, true]);
    budget.observe(() => (told += 1));
    expect(told).toBe(1);
  });

  it('skips a caller that no longer looks', () => {
    let told = 0;
    const budget = new LogBudget(10);
    budget.observe(() => (told += 1));
    budget.unobserve();
    expect([budget.take(11), told]).toEqual([10, 0]);
  });

  it('has 256 MiB', () => {
    expect(new LogBudget().maxBytes).toBe(268_435_456);
  });
});
