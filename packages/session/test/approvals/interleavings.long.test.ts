import { expect, it } from 'vitest';

import { faultsIn } from './interleavings.ts';

it('no call of 10,000 sessions runs without a written answer', { timeout: 3_600_000 }, async () => {
  const { faults, ran } = await faultsIn(10_000);
  expect(faults).toEqual([]);
  expect(ran).toBeGreaterThan(1000);
});
