import { expect, it } from 'vitest';

import { faultsIn } from './interleavings.ts';

it('no call runs without a written answer, in whatever order answers, cancels, the clock and an end of the process come', async () => {
  const { faults, ran } = await faultsIn(300);
  expect(faults).toEqual([]);
  expect(ran).toBeGreaterThan(30);
}, 120_000);
