import { array, assert, asyncProperty, string } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../../test/support/any-character.ts';
import { sortNames } from './listing.ts';

describe('names', () => {
  it('sort as the language sorts strings', async () => {
    const agrees = asyncProperty(array(string({ unit: anyCharacter })), async (names) => {
      expect(await sortNames(names)).toEqual(names.toSorted());
    });
    await assert(agrees);
  });

  it('sort when there are more than a slice, and an odd number of slices', async () => {
    const names = Array.from({ length: 50_000 }, (_, index) => `file-${(index * 7919) % 50_000}`);
    expect(await sortNames(names)).toEqual(names.toSorted());
  });

  it('leave other work its turn', async () => {
    const names = Array.from({ length: 50_000 }, (_, index) => `file-${(index * 7919) % 50_000}`);
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    await sortNames(names);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
  });
});
