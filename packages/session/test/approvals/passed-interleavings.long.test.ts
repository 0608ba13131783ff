import { expect, it } from 'vitest';

import { faultsInPairs } from './passed-interleavings.ts';

it('no call of the children of 10,000 sessions runs without a written answer, runs twice or is lost', async () => {
  const { faults, ran, ranFromAbove } = await faultsInPairs(10_000);
  expect(faults).toEqual([]);
  expect(ran).toBeGreaterThan(1000);
  expect(ranFromAbove).toBeGreaterThan(500);
}, 3_600_000);
