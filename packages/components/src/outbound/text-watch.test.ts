import fc from 'fast-check';
import { expect, it } from 'vitest';

import { TextWatch } from './text-watch.ts';

it('sees the text however it is cut', () => {
  const pieces = fc.array(fc.constantFrom('a', 'b', 'ab', 'ba', 'aab', ''), { maxLength: 12 });
  fc.assert(
    fc.property(pieces, (pieces) => {
      const watch = new TextWatch('aaba');
      const seen = pieces.map((piece) => watch.sees(Buffer.from(piece))).includes(true);
      expect(seen).toBe(pieces.join('').includes('aaba'));
    }),
  );
});

it('sees a text of one letter in the piece that holds it, and only there', () => {
  const watch = new TextWatch('x');
  expect(['ax', 'b', 'x'].map((piece) => watch.sees(Buffer.from(piece)))).toEqual([true, false, true]);
});
