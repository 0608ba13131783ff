import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { GatheredBytes } from './gathered-bytes.ts';

describe('gathered bytes', () => {
  it('hold the pieces in their order, however they were cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 100_000 }), { maxLength: 12 }), (sizes) => {
        const pieces = sizes.map((size, index) => Buffer.alloc(size, index));
        const gathered = new GatheredBytes();
        for (const piece of pieces) gathered.append(piece);
        expect(gathered.length).toBe(Buffer.concat(pieces).length);
        expect(gathered.take().equals(Buffer.concat(pieces))).toBe(true);
        expect([gathered.length, gathered.take().length]).toEqual([0, 0]);
      }),
    );
  });

  it('begin anew after they were taken, and leave what was taken alone', () => {
    const gathered = new GatheredBytes();
    gathered.append(Buffer.from('one'));
    const one = gathered.takeWith(Buffer.from(' and'));
    gathered.append(Buffer.from('two'));
    expect([one.toString(), gathered.take().toString()]).toEqual(['one and', 'two']);
  });
});
