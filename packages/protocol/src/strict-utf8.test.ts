import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../test/support/any-character.ts';
import { decodeMarkedUtf8, decodeStrictUtf8, strictUtf8Pieces } from './strict-utf8.ts';

describe('UTF-8 from outside', () => {
  it('decodes', () => {
    expect(decodeStrictUtf8(Buffer.from([0x67, 0x72, 0xc3, 0xbc, 0xc3, 0x9f, 0x65]))).toBe('grüße');
  });

  it('keeps a byte order mark', () => {
    expect(decodeStrictUtf8(Buffer.from([0xef, 0xbb, 0xbf, 0x61]))).toBe('\ufeffa');
  });

  it.each([
    ['a stray continuation', [0x61, 0x80]],
    ['a character that is cut off', [0xe2, 0x82]],
    ['a character in too many bytes', [0xc0, 0xaf]],
    ['half of a surrogate pair', [0xed, 0xa0, 0x80]],
  ])('fails with %s, also after valid text', (_, bytes) => {
    expect(decodeStrictUtf8(Buffer.from(bytes))).toBeNull();
    expect(decodeStrictUtf8(Buffer.from([0x61]))).toBe('a');
  });

  it('loses one byte order mark at most, and only where the caller wants that', () => {
    const twice = Buffer.from('\ufeff\ufeffa\ufeff');
    expect([decodeMarkedUtf8(twice), decodeMarkedUtf8(Buffer.from('a'))]).toEqual(['\ufeffa\ufeff', 'a']);
    expect(decodeMarkedUtf8(Buffer.from([0xef, 0xbb, 0xbf, 0x80]))).toBeNull();
  });

  it('equals what the decoder of the platform makes of it, in one piece or cut anywhere', () => {
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.string({ unit: anyCharacter }).map((text) => Uint8Array.from(Buffer.from(text))),
    );
    fc.assert(
      fc.property(bytes, fc.nat(), (given, at) => {
        const cut = given.length === 0 ? 0 : at % given.length;
        const pieces = strictUtf8Pieces();
        const [first, second] = [pieces(given.subarray(0, cut), false), pieces(given.subarray(cut), true)];
        const whole = platformDecoded(given, { ignoreBOM: true });
        expect(decodeStrictUtf8(given)).toBe(whole);
        expect(first === null || second === null ? null : first + second).toBe(whole);
        expect(decodeMarkedUtf8(given)).toBe(platformDecoded(given, { ignoreBOM: false }));
      }),
    );
  });
});

function platformDecoded(bytes: Uint8Array, { ignoreBOM }: { readonly ignoreBOM: boolean }): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM }).decode(bytes);
  } catch {
    return null;
  }
}
