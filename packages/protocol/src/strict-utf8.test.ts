import { describe, expect, it } from 'vitest';

import { decodeStrictUtf8 } from './strict-utf8.ts';

describe('UTF-8 from outside', () => {
  it('is decoded', () => {
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
  ])('is refused with %s, also after text that was right', (_, bytes) => {
    expect(() => decodeStrictUtf8(Buffer.from(bytes))).toThrow(TypeError);
    expect(decodeStrictUtf8(Buffer.from([0x61]))).toBe('a');
  });
});
