import { expect, it } from 'vitest';

import { inParallel } from './resolve.ts';

it('inParallel works on that many at once at most, and keeps the order', async () => {
  let running = 0;
  let most = 0;
  const results = await inParallel([5, 4, 3, 2, 1, 0], 3, async (turns) => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    running -= 1;
    return turns * 10;
  });
  expect(results).toEqual([50, 40, 30, 20, 10, 0]);
  expect(most).toBe(3);
});

it('inParallel rejects with the first failure', async () => {
  const work = async (item: number): Promise<number> => {
    await Promise.resolve();
    if (item === 2) throw new Error('two');
    return item;
  };
  await expect(inParallel([1, 2, 3], 1, work)).rejects.toThrow('two');
});

it('inParallel starts nothing for an empty list', async () => {
  expect(await inParallel([], 4, async () => await Promise.resolve(1))).toEqual([]);
});
