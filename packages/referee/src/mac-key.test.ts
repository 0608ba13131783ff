import { createHmac } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { MacKey } from './mac-key.ts';

const secret = Buffer.alloc(32, 7);

describe('a key that seals texts', () => {
  it.each([0, 1, 6, 64, 100, 3000])('puts the HMAC-SHA-256 before a payload of %i bytes', (length) => {
    const payload = Buffer.alloc(length, 'x');
    const encoded = payload.toString('base64url');
    const mac = createHmac('sha256', secret).update(encoded).digest('base64url');
    const key = new MacKey('t1.', secret);
    expect(key.seal(payload)).toBe(`t1.${mac}${encoded}`);
    expect(key.open(`t1.${mac}${encoded}`)).toEqual(payload);
  });

  it('compares nothing with what another text left behind', () => {
    const key = new MacKey('t1.', secret);
    const sealed = key.seal(Buffer.from('session'));
    const macEnd = 't1.'.length + 43;
    expect(key.open(sealed)).toEqual(Buffer.from('session'));
    for (const last of ['é', '€', '\u{1f600}'.charAt(0)]) {
      const wrong = sealed.slice(0, macEnd - 1) + last + sealed.slice(macEnd);
      expect(key.open(wrong)).toBeNull();
    }
    expect(key.open(sealed.slice(0, macEnd - 1))).toBeNull();
    expect(key.open(sealed)).toEqual(Buffer.from('session'));
  });

  it('opens nothing whose characters have the right lower bytes alone', () => {
    const key = new MacKey('t1.', secret);
    const sealed = key.seal(Buffer.from('session'));
    const shifted = Array.from(sealed, (character, index) =>
      index < 3 ? character : String.fromCharCode(character.charCodeAt(0) + 0x100),
    );
    expect(key.open(shifted.join(''))).toBeNull();
  });

  it('seals and opens payloads of up to 4,096 characters, and opens nothing longer that begins as one of them', () => {
    const key = new MacKey('t1.', secret);
    const longest = Buffer.alloc(3072, 'x');
    const sealed = key.seal(longest);
    expect(sealed).toHaveLength('t1.'.length + 43 + 4096);
    expect(key.open(sealed)).toEqual(longest);
    expect(key.open(`${sealed}AAAA`)).toBeNull();
    expect(() => key.seal(Buffer.alloc(3073))).toThrow('the payload is too long for a token');
  });
});
