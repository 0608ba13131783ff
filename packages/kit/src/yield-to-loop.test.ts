import { describe, expect, it } from 'vitest';

import { yieldToLoop } from './yield-to-loop.ts';

describe('turns of their own', () => {
  it('come one in each turn of the event loop, in the order they were asked for', async () => {
    const order: string[] = [];
    let turn = 0;
    let isOver = false;
    const count = (): void => {
      turn += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const step = async (name: string): Promise<number[]> => {
      const turns: number[] = [];
      for (let index = 0; index < 3; index += 1) {
        await yieldToLoop();
        order.push(name);
        turns.push(turn);
      }
      return turns;
    };
    const turns = await Promise.all([step('a'), step('b'), step('c')]);
    isOver = true;
    expect(order.join('')).toBe('abcabcabc');
    expect(new Set(turns.flat()).size).toBe(9);
  });
});
