import { describe, expect, it } from 'vitest';

import { ByteBudget } from './byte-budget.ts';
import { ByteQueue } from './byte-queue.ts';

const patient = { withinMs: 60_000, maxBefore: 31 };

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
    const large = queue.take(60, { withinMs: 1, maxBefore: 31 });
    const small = queue.take(50, patient);
    expect([await large, await small]).toEqual([false, true]);
  });

  it('lets as many wait as one is ready to wait behind', async () => {
    const budget = new ByteBudget(100);
    const queue = new ByteQueue(budget);
    budget.take(100);
    const waiting = Array.from({ length: 32 }, () => queue.take(1, patient));
    expect(await queue.take(1, patient)).toBe(false);
    const last = queue.take(1, { withinMs: 60_000, maxBefore: 32 });
    budget.giveBack(100);
    expect(await last).toBe(true);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
  });

  it('leaves room for others, whatever a holder takes', () => {
    const budget = new ByteBudget(128);
    const taken = (holder: string, bytes: number): number => {
      let count = 0;
      while (budget.take(bytes, holder)) count += bytes;
      return count;
    };
    expect(['a', 'b', 'c', 'd', 'e'].map((holder) => taken(holder, 1))).toEqual([64, 32, 16, 8, 4]);
    budget.giveBack(64, 'a');
    expect(taken('b', 1)).toBe(18);
    expect(budget.take(40, 'f')).toBe(true);
    expect([budget.take(20), budget.take(9)]).toEqual([false, true]);
  });

  it('gives who has nothing an answer of any length that fits, and the next ones within their share', () => {
    const budget = new ByteBudget(128);
    expect([budget.take(200, 'a'), budget.take(1, 'b')]).toEqual([true, false]);
    budget.giveBack(200, 'a');
    expect([budget.take(1, 'b'), budget.take(100, 'a'), budget.take(1, 'a'), budget.take(5, 'b')]).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  it('keeps nobody waiting behind one who waits for what its own holder has', async () => {
    const budget = new ByteBudget(128);
    const queue = new ByteQueue(budget);
    budget.take(60, 'a');
    const order: string[] = [];
    const waits = Array.from({ length: 32 }, () => queue.take(30, patient, 'a').then(() => order.push('a')));
    expect(await queue.take(1, patient, 'a')).toBe(false);
    expect(await queue.take(20, patient, 'b')).toBe(true);
    expect(await queue.take(20, patient)).toBe(true);
    const full = queue.take(40, patient, 'c').then(() => order.push('c'));
    budget.giveBack(60, 'a');
    await Promise.all([waits[0], full]);
    expect(order).toEqual(['a', 'c']);
  });
});
