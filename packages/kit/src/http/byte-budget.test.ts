import { describe, expect, it } from 'vitest';

import { ByteBudget } from './byte-budget.ts';

describe('a budget of bytes', () => {
  it('lets in who waits as others give back, in the order of asking', async () => {
    const budget = new ByteBudget(100);
    expect(budget.take(90)).toBe(true);
    const order: string[] = [];
    const large = budget.takeInTurn(60, 60_000).then(() => order.push('large'));
    const small = budget.takeInTurn(5, 60_000).then(() => order.push('small'));
    budget.giveBack(20);
    expect(order).toEqual([]);
    budget.giveBack(40);
    await Promise.all([large, small]);
    expect(order).toEqual(['large', 'small']);
    expect([budget.take(6), budget.take(5)]).toEqual([false, true]);
  });

  it('refuses who has waited long enough, and lets in who stood behind', async () => {
    const budget = new ByteBudget(100);
    budget.take(50);
    const large = budget.takeInTurn(60, 1);
    const small = budget.takeInTurn(50, 60_000);
    expect([await large, await small]).toEqual([false, true]);
  });

  it('lets 32 wait and no more', async () => {
    const budget = new ByteBudget(100);
    budget.take(100);
    const waiting = Array.from({ length: 32 }, () => budget.takeInTurn(1, 60_000));
    expect(await budget.takeInTurn(1, 60_000)).toBe(false);
    budget.giveBack(100);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
  });
});
