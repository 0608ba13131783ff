import { describe, expect, it } from 'vitest';

import { sha256Hex, sha256Shape } from './sha256.ts';

describe('a SHA-256 in hex', () => {
  it.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    ['é', '4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c'],
  ])('hashes the UTF-8 of %j', (text, hex) => {
    expect(sha256Hex(text)).toBe(hex);
    expect(sha256Hex(new TextEncoder().encode(text))).toBe(hex);
    expect(hex).toMatch(sha256Shape);
  });

  it('hashes a view of bytes alone, not what lies around them', () => {
    expect(sha256Hex(Buffer.from('xabcx').subarray(1, 4))).toBe(sha256Hex('abc'));
  });
});
