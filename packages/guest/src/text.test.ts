import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../test/support/any-character.ts';
import { PairKeeper, wellFormed, withWellFormedText } from './text.ts';

describe('text for the host', () => {
  it('has no halves of surrogate pairs', () => {
    expect(wellFormed('a\ud83d b\udc4b c👋')).toBe('a\ufffd b\ufffd c👋');
    expect(withWellFormedText({ a: ['\ud83d', { b: 'ok\udc4b' }], c: 1, d: null })).toEqual({
      a: ['\ufffd', { b: 'ok\ufffd' }],
      c: 1,
      d: null,
    });
  });
});

describe('pieces of text', () => {
  it('show a character that was cut in two once it is whole', () => {
    const keeper = new PairKeeper();
    expect(['Hi \ud83d', '\udc4b', '!'].map((piece) => keeper.push(piece))).toEqual(['Hi ', '👋', '!']);
  });

  it('are well-formed however the text is cut', () => {
    const anyCut = fc.array(fc.nat({ max: 20 }), { maxLength: 6 });
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 20 }), anyCut, (text, at) => {
        const bounds = [0, ...at.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
        const keeper = new PairKeeper();
        const shown = bounds.slice(0, -1).map((start, index) => keeper.push(text.slice(start, bounds[index + 1])));
        expect(shown.join('')).toBe(wellFormed(text));
      }),
    );
  });
});
