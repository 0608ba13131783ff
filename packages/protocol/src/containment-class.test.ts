import { expect, it } from 'vitest';

import { strongest } from './containment-class.ts';

it.each([
  [[], 'advisory'],
  [[undefined], 'advisory'],
  [['scoped', undefined], 'scoped'],
  [[undefined, 'advisory', 'sealed', 'scoped'], 'sealed'],
] as const)('the strongest of the floors %j is %s', (floors, expected) => {
  expect(strongest(floors)).toBe(expected);
});
