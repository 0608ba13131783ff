import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { FrameRing } from './replay-buffer.ts';

function filled(capacity: number, values: readonly number[]): FrameRing<number> {
  const ring = new FrameRing<number>(capacity);
  for (const value of values) ring.push(value);
  return ring;
}

describe('a ring of frames', () => {
  it('holds what came, oldest first, until it is full', () => {
    expect(new FrameRing<number>(3).toArray()).toEqual([]);
    expect(filled(3, [1, 2]).toArray()).toEqual([1, 2]);
    expect(filled(3, [1, 2, 3]).toArray()).toEqual([1, 2, 3]);
  });

  it('drops the oldest for each new one once it is full', () => {
    expect(filled(3, [1, 2, 3, 4]).toArray()).toEqual([2, 3, 4]);
    expect(filled(3, [1, 2, 3, 4, 5, 6, 7]).toArray()).toEqual([5, 6, 7]);
    expect(filled(1, [1, 2]).toArray()).toEqual([2]);
  });

  it('counts what it holds', () => {
    expect([filled(3, []).size, filled(3, [1, 2]).size, filled(3, [1, 2, 3, 4]).size]).toEqual([0, 2, 3]);
  });

  it('becomes empty when it is drained and fills from the start again', () => {
    const ring = filled(3, [1, 2, 3, 4]);
    expect(ring.drain()).toEqual([2, 3, 4]);
    expect([ring.size, ring.drain()]).toEqual([0, []]);
    for (const value of [5, 6, 7, 8]) ring.push(value);
    expect(ring.toArray()).toEqual([6, 7, 8]);
  });

  it('holds the last of any sequence, and keeps them when it is only looked at', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(fc.nat(), { maxLength: 40 }), (capacity, values) => {
        const ring = filled(capacity, values);
        expect(ring.toArray()).toEqual(values.slice(-capacity));
        expect(ring.toArray()).toEqual(values.slice(-capacity));
        expect(ring.drain()).toEqual(values.slice(-capacity));
      }),
    );
  });
});
