import { describe, expect, it } from 'vitest';

import { ByteBudget } from './byte-budget.ts';
import { ByteQueue } from './byte-queue.ts';

const patient = { withinMs: 60_000, mostBefore: 31 };

describe('a queue for room in a budget', () => {
  it('lets in who waits as others give back, in the order of asking', async () => {
    const budget = new ByteBudget(100);
    const queue = new ByteQueue(budget);
    expect(budget.take(90)).toBe(true);
    const order: string[] = [];
    const large = queue.take(60, patient).then(() => order.push('large'));
    const small = queue.take(5, patient).then(() => order.push('small'));
    budget.giveBack(20);
    expect(order).toEqual([]);
    budget.giveBack(40);
    await Promise.all([large, small]);
    expect(order).toEqual(['large', 'small']);
    expect([budget.take(6), budget.take(5)]).toEqual([false, true]);
  });

  it('refuses who has waited long enough, and lets in who stood behind', async () => {
    const budget = new ByteBudget(100);
    const queue = new ByteQueue(budget);
    budget.take(50);
    const large = queue.take(60, { withinMs: 1, mostBefore: 31 });
    const small = queue.take(50, patient);
    expect([await large, await small]).toEqual([false, true]);
  });

  it('lets as many wait as one is ready to wait behind', async () => {
    const budget = new ByteBudget(100);
    const queue = new ByteQueue(budget);
    budget.take(100);
    const waiting = Array.from({ length: 32 }, () => queue.take(1, patient));
    expect(await queue.take(1, patient)).toBe(false);
    const last = queue.take(1, { withinMs: 60_000, mostBefore: 32 });
    budget.giveBack(100);
    expect(await last).toBe(true);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
  });
});
