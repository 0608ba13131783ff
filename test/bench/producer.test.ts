import { describe, expect, it } from 'vitest';

import { flood } from '../../bench/support/producer.mjs';

/** How many frames were published in each turn of the event loop that published any. */
async function perTurn(order: { readonly frames: number; readonly burst: number }): Promise<readonly number[]> {
  const turns = [0];
  let isOver = false;
  const turn = (): void => {
    turns.push(0);
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await flood(order, () => turns.push((turns.pop() ?? 0) + 1));
  isOver = true;
  return turns.filter((count) => count > 0);
}

describe('the producer of the stream rows', () => {
  it('publishes one frame a turn, or the given number', async () => {
    expect(await perTurn({ frames: 4, burst: 1 })).toEqual([1, 1, 1, 1]);
    expect(await perTurn({ frames: 40, burst: 16 })).toEqual([16, 16, 8]);
  });
});
