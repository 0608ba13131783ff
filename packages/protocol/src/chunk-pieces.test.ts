import { describe, expect, it } from 'vitest';

import { chunkPieces } from './chunk-pieces.ts';

const most = 1024 * 1024;

describe('a chunk', () => {
  it.each(['', 'text', 'x'.repeat(most), `${'x'.repeat(most - 2)}\u{1f600}`])(
    'stays one piece up to 1 Mi characters: %#',
    (text) => {
      expect(chunkPieces(text)).toEqual([text]);
    },
  );

  it('divides behind each 1 Mi characters when it is longer', () => {
    const text = `${'a'.repeat(most)}${'b'.repeat(most)}c`;
    expect(chunkPieces(text)).toEqual(['a'.repeat(most), 'b'.repeat(most), 'c']);
    expect(chunkPieces('a'.repeat(2 * most)).map(({ length }) => length)).toEqual([most, most]);
  });

  it('never divides within a character', () => {
    const text = `${'a'.repeat(most - 1)}\u{1f600}b`;
    expect(chunkPieces(text)).toEqual(['a'.repeat(most - 1), '\u{1f600}b']);
  });

  it('keeps half a character at its end', () => {
    const text = `${'a'.repeat(2 * most - 1)}\ud83d`;
    expect(chunkPieces(text).map(({ length }) => length)).toEqual([most, most]);
  });
});
