import { describe, expect, it } from 'vitest';

import { closestName, didYouMean } from './closest-name.ts';

describe('the closest name', () => {
  it.each([
    ['lifecyle', 'lifecycle'],
    ['lifceycle', 'lifecycle'],
    ['Lifecycle', 'lifecycle'],
    ['nmae', 'name'],
    ['versoin', 'version'],
  ])('for %s equals %s', (name, meant) => {
    expect(closestName(name, ['name', 'version', 'lifecycle'])).toBe(meant);
  });

  it('does not exist when nothing is near, nothing is known, or the name is endless', () => {
    expect(closestName('capabilities', ['name', 'version'])).toBeUndefined();
    expect(closestName('mane', [])).toBeUndefined();
    expect(closestName('x'.repeat(100_000), ['x'.repeat(100_001)])).toBeUndefined();
    expect(closestName('abcd', ['name'])).toBeUndefined();
  });

  it('comes from the nearest of several', () => {
    expect(closestName('max_turn', ['max_tokens', 'max_turns'])).toBe('max_turns');
  });

  it('stands in a hint, which is left out when nothing is near', () => {
    expect(didYouMean('nmae', ['name'])).toBe('did you mean name?');
    expect(didYouMean('capabilities', ['name'])).toBeUndefined();
  });
});
